"""The scores of a table as a figure: its rows, its files and its chart on the page."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from phasefit.studies.figures import Figures
from phasefit.studies.page import study_page
from phasefit.studies.result import Result
from phasefit.studies.score_figure import chart, drawn_table, write_scores
from phasefit.studies.study import Data, Published, Study, TableSpec, Variant
from phasefit.studies.study_file import FigurePart

FIGURE = FigurePart(title="Confidence & entropy", kind="scores", tables=[4])
BITS = {("A", "base"): [0.9, 1.0, 1.1], ("A", "ours"): [0.4, 0.5, 0.6], ("B", "base"): [1.5], ("B", "ours"): [1.2]}


@pytest.fixture
def study() -> Study:
    datasets = (Data("A", {"data": "snips"}, label="A, 300 rows"), Data("B", {"data": "snips2"}, seeds=(0,)))
    tables = (
        TableSpec("accuracy", "test.accuracy", number="1"),
        TableSpec(
            "entropy",
            "test.confidence_entropy",
            number="4",
            scale=1.0,
            published=(Published("X", {"A": {"ours": 0.3}}),),
        ),
    )
    variants = (Variant("base", "finetune"), Variant("ours", "three-phase"))
    return Study("s", "S", datasets, variants, (0, 1, 2), tables=tables)


@pytest.fixture
def results(study: Study) -> dict[str, Result]:
    def result(dataset: str, variant: str, seed: int) -> Result:
        bits = BITS[dataset, variant][seed]
        metrics: dict[str, Any] = {"test": {"accuracy": 0.5, "confidence_entropy": bits}}
        return Result(metrics, rows={"train": 80, "test": 20}, own_test=True, seconds=1.0, memory_mb=1.0)

    return {cell.key: result(cell.dataset, cell.variant, cell.spec.seed) for cell in study.cells(study.tables)}


def test_it_has_the_scores_of_its_table(study: Study, results: dict[str, Result]) -> None:
    table = drawn_table(FIGURE, study, study.cells(study.tables), results)
    assert table is not None
    drawn = chart(FIGURE, table)
    assert drawn["x_title"] == "confidence entropy on test"
    assert [(one["dataset"], one["variant"], one["n"]) for one in drawn["spots"]] == [
        ("A, 300 rows", "base", 3), ("A, 300 rows", "ours", 3), ("B", "base", 1), ("B", "ours", 1),
    ]  # fmt: skip
    assert [one["mean"] for one in drawn["spots"]] == pytest.approx([1.0, 0.5, 1.5, 1.2])
    assert drawn["spots"][0]["low"] < 1.0 < drawn["spots"][0]["high"]
    assert [one["published"] for one in drawn["spots"]] == [None, 0.3, None, None]


def test_it_may_have_fewer_variants_and_may_be_empty(study: Study, results: dict[str, Result]) -> None:
    cells = study.cells(study.tables)
    one = drawn_table(FIGURE.model_copy(update={"variants": ["ours"]}), study, cells, results)
    assert one is not None
    assert {row.variant for row in one.rows} == {"ours"}
    assert drawn_table(FIGURE, study, cells, {}) is None
    assert drawn_table(FIGURE.model_copy(update={"tables": [9]}), study, cells, results) is None


def test_it_is_written_as_csv_png_and_svg(study: Study, results: dict[str, Result], tmp_path: Path) -> None:
    table = drawn_table(FIGURE, study, study.cells(study.tables), results)
    assert table is not None
    table_file, picture, drawing = write_scores(tmp_path, FIGURE, table)
    with table_file.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["dataset"], row["variant"], row["n"], row["published"]) for row in rows[:2]] == [
        ("A, 300 rows", "base", "3", ""),
        ("A, 300 rows", "ours", "3", "0.3"),
    ]
    assert float(rows[1]["mean"]) == pytest.approx(0.5)
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = drawing.read_text(encoding="utf-8")
    assert all(part in text for part in ("Confidence &amp; entropy", "300 rows", "base", "ours"))


def test_figures_of_both_kinds_are_numbered_by_kind(study: Study, results: dict[str, Result], tmp_path: Path) -> None:
    gain = FigurePart(title="Gain", variant="ours", against="base", tables=[1])
    figures = Figures((FIGURE, gain, FIGURE.model_copy(update={"title": "Again"})), study, study)
    cells = study.cells(study.tables)
    figures.write(tmp_path, cells, results)
    assert {path.name for path in tmp_path.glob("*.csv")} == {"scores.csv", "scores-2.csv", "gain.csv"}
    shown = figures.for_page(cells, results)
    assert [one["title"] for one in shown] == ["Confidence & entropy", "Gain", "Again"]
    assert figures.for_page(cells, {}) == []
    content = {"title": "S", "command": "", "metric": "accuracy", "notes": [], "environment": {}, "curves": shown}
    page = study_page({**content, "tables": [], "cells": []}).html()
    assert "<h2" in page
    assert "Confidence &amp; entropy" in page
    assert "confidence entropy on test of each variant with its 95 % interval, by dataset" in page
