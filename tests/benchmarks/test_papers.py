"""The papers' tables from the ledger: commands, claims, marks of the page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import papers  # noqa: E402

from phasefit.studies.study_reading import list_studies  # noqa: E402


def claim(verdict: str, reason: str = "") -> dict[str, Any]:
    shown = dict.fromkeys(papers.HEADINGS, "x") | {"claim": "a > b on S | T", "verdict": verdict}
    return {"shown": shown, "reason": reason}


RESULTS = {
    "claims": [claim("holds"), claim("not run", "these runs are not part of the selected scale, datasets or tables")],
    "cells": [1, 2],
    "planned": 3,
}


def test_every_packaged_study_is_written() -> None:
    assert set(papers.OPTIONS) == {info.name for info in list_studies()}


def test_claims_outside_the_scale_are_counted_not_listed() -> None:
    table = papers.claims_table(RESULTS)
    assert table.count("\n| ") == 1
    assert "a > b on S \\| T" in table
    assert "2 of 3 cells are in. 1 more claim is about runs" in table


def test_only_the_part_between_the_marks_changes() -> None:
    page = "before\n<!-- claims of tree -->\nearlier\n<!-- end of tree -->\nafter\n"
    changed = papers.with_claims(page, "tree", RESULTS)
    assert changed.startswith("before\n<!-- claims of tree -->\n| claim")
    assert changed.endswith("<!-- end of tree -->\nafter\n")
    assert "earlier" not in changed
    assert papers.with_claims(changed, "tree", RESULTS) == changed


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(SystemExit, match="must have"):
        papers.with_claims("nothing", "tree", RESULTS)


def test_the_page_has_the_marks_of_every_study() -> None:
    page = papers.PAGE.read_text(encoding="utf-8")
    for name in papers.OPTIONS:
        assert page.count(f"<!-- claims of {name} -->") == page.count(f"<!-- end of {name} -->") == 1


def test_the_command_has_neither_the_output_nor_the_folder_of_a_model() -> None:
    text = "# Title\n\n    phasefit reproduce mirror --no-run -o somewhere\n\nmore\n"
    words = ["reproduce", "mirror", "--model", "some/folder", "--no-run"]
    assert (
        papers.with_command(text, words).splitlines()[2] == "    phasefit reproduce mirror --model SUBSTITUTE --no-run"
    )
