"""Training with a report, as the command line does it."""

from __future__ import annotations

from functools import partial

from phasefit.report import write_run_report
from phasefit.runs import train as runs

train = partial(runs.train, report=write_run_report)
resume = partial(runs.resume, report=write_run_report)
