"""Write the report of a finished run: pictures, page and model card."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from phasefit.files.atomic import write_text
from phasefit.report.card.card import run_card
from phasefit.report.facts.run import RunFacts
from phasefit.report.facts.words import mistake_words
from phasefit.report.page.run_page import write_run_page
from phasefit.report.pictures import draw_run

if TYPE_CHECKING:
    from phasefit.runs.results import FinishedRun

PAGE = "report.html"


def write_report(run: FinishedRun) -> None:
    """Write the report into the run folder, without the parts that the run has no data for."""
    facts = RunFacts.of(run)
    facts = replace(facts, words=mistake_words(facts, run.result.model))
    pictures = draw_run(run.folder, facts)
    write_run_page(run.folder / PAGE, facts)
    write_text(run.folder / "README.md", run_card(facts, pictures, PAGE))
