"""The page of a study, out of plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phasefit.studies.page import study_page, write_study_page


def row(variant: str, mean: float, **more: Any) -> dict[str, Any]:
    return {"dataset": "snips", "variant": variant, "n": 3, "mean": mean, "low": mean - 0.1, "high": mean, **more}


def content(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"title": "A study", "command": "phasefit compare", "metric": "accuracy", "notes": []}
    empty |= {"environment": {}, "cells": [], "curves": []}
    return {**empty, "tables": [{"title": "Scores", "metric": "accuracy", "rows": rows}] if rows else [], **more}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "whether that is more than chance was not tested"),
        ({"difference": 0.1, "difference_low": 0.05, "difference_high": 0.15, "p": 0.01}, "is more than chance (95 %"),
        ({"difference": 0.1, "difference_low": -0.05, "difference_high": 0.25}, "is within what chance does"),
        ({"difference": 0.1, "p": 0.01}, "is more than chance (p = 0.01)"),
        ({"difference": 0.1}, "was not tested"),
    ],
)
def test_the_headline_says_who_leads_and_whether_it_is_real(more: dict[str, Any], said: str) -> None:
    page = study_page(content([row("finetune", 0.8), row("<b>", 0.9, **more)])).html()
    assert "On snips, &lt;b&gt; leads with 0.9000" in page
    assert said in page


def test_ranks_know_which_way_a_score_is_better() -> None:
    page = study_page(content([row("one", 0.8, rank=1.0), row("two", 0.9, rank=2.0)])).html()
    assert "On snips, one leads with 0.8000" in page


def test_a_study_without_results_has_a_page(tmp_path: Path) -> None:
    write_study_page(tmp_path / "report.html", content([]))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "phasefit compare" in page
    assert "echarts" not in page


def test_a_large_study_stays_small(tmp_path: Path) -> None:
    rows = [
        {**row(f"variant {v}", 0.5 + v / 100, minutes=1.0), "dataset": f"data {d}"}
        for d in range(12)
        for v in range(12)
    ]
    cells = [
        {**one, "seed": seed, "fold": None, "score": one["mean"], "memory_mb": 900}
        for one in rows
        for seed in range(30)
    ]
    write_study_page(tmp_path / "report.html", content(rows, cells=cells))
    assert (tmp_path / "report.html").stat().st_size < 3_000_000
