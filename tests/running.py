"""Training with a report, as the command line does it."""

from __future__ import annotations

from functools import partial

from phasefit.report import write_run_report
from phasefit.runs import resume as resuming
from phasefit.runs import train as training

train = partial(training.train, report=write_run_report)
resume = partial(resuming.resume, report=write_run_report)
