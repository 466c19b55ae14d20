"""Report: the card, the page and the pictures of a run.

`facts` are computed once; `card`, `page` and `pictures` only draw them; `limits` has how much is shown; `run` writes
all of it for a finished run. May import runs and everything to their left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phasefit.runs.results import FinishedRun


def write_run_report(run: FinishedRun) -> None:
    """Write the page, pictures and card of a run into its folder; imports matplotlib on first use."""
    from phasefit.report.run import write_report

    write_report(run)
