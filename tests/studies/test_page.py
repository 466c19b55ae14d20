"""The page of a study, from plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phasefit.studies.page import study_page, write_study_page
from phasefit.studies.result import Result
from phasefit.studies.run_study import repetitions, write_files
from phasefit.studies.study import Data, Study, TableSpec, Variant
from phasefit.studies.tables import fill
from phasefit.studies.verdict import Evidence, Repetitions, verdicts


def row(variant: str, mean: float, **more: Any) -> dict[str, Any]:
    return {"dataset": "snips", "variant": variant, "n": 3, "mean": mean, "low": mean - 0.1, "high": mean, **more}


def content(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"title": "A study", "command": "phasefit compare", "metric": "accuracy", "notes": []}
    empty |= {"environment": {}, "cells": [], "curves": []}
    return {**empty, "tables": [{"title": "Scores", "metric": "accuracy", "rows": rows}] if rows else [], **more}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, "the difference was not tested"),
        (
            {"difference": 0.1, "difference_low": 0.05, "difference_high": 0.15, "p": 0.01},
            "it is better than finetune (+10 points, 95 % interval +5 to +15, p = 0.01; 3 seeds).",
        ),
        (
            {"difference": 0.1, "difference_low": -0.05, "difference_high": 0.25, "p": 0.2},
            "is better than finetune (+10 points, 95 % interval -5 to +25, p = 0.2); use --seeds 5.",
        ),
        ({"difference": 0.1, "p": 0.01}, "it is better than finetune (+10 points, p = 0.01; 3 seeds)."),
        (
            {"difference": 0.1, "p": 0.2, "needs_rows": True},
            "(+10 points, p = 0.2); use --seeds 5 and more test rows.",
        ),
        (
            {"difference": 0.1},
            "3 seeds cannot tell whether &lt;b&gt; is better than finetune (+10 points); use --seeds 5",
        ),
    ],
)
def test_the_headline_names_the_leader_and_the_significance(more: dict[str, Any], sentence: str) -> None:
    page = study_page(content([row("finetune", 0.8), row("<b>", 0.9, **more)])).html()
    assert "On snips, &lt;b&gt; leads with 0.9000" in page
    assert sentence in page


@pytest.mark.parametrize(
    ("metric", "difference", "repeated", "option", "sentence"),
    [
        (
            *("test.accuracy", 0.05, Repetitions(2, {"test": 20}), "--seeds"),
            "2 seeds cannot tell whether frozen is better than tfidf (+5 points on 20 test rows); use --seeds 5",
        ),
        (
            *("test.macro_f1", 0.0125, Repetitions(1, {"test": 1200}), "--seeds"),
            "1 seed cannot tell whether frozen is better than tfidf (+1.25 points on 1,200 test rows); use --seeds 5",
        ),
        (
            *("validation.accuracy", 0.01, Repetitions(4, {"validation": 1, "test": 20}), "--fresh"),
            "4 seeds cannot tell whether frozen is better than tfidf (+1 point on 1 validation row); use --fresh 5",
        ),
        (
            *("test.ece", -0.01, Repetitions(5), "--seeds"),
            "5 seeds cannot tell whether frozen is better than tfidf (-1 point); use --seeds 10",
        ),
        (
            *("test.mse", -0.05, Repetitions(6, {"test": 20}), "--seeds"),
            "6 seeds cannot tell whether frozen is better than tfidf (-0.0500 on 20 test rows); use --seeds 12",
        ),
        (
            *("test.tasks.sts.pearson", 0.05, None, "--seeds"),
            "3 seeds cannot tell whether frozen is better than tfidf (+0.0500); use --seeds 5",
        ),
    ],
)
def test_a_difference_that_cannot_be_tested_needs_more_seeds(
    metric: str, difference: float, repeated: Repetitions | None, option: str, sentence: str
) -> None:
    rows = [row("tfidf", 0.8, rank=2.0), row("frozen", 0.8 + difference, rank=1.0, difference=difference)]
    rows[1]["n"] = 3 if repeated is None else repeated.seeds
    tables = [{"title": "Scores", "metric": metric, "rows": rows}]
    evidence = Evidence({} if repeated is None else {("snips", "frozen"): repeated}, option)
    page = study_page(content([], tables=tables), evidence).html()
    assert f"On snips, frozen leads with {0.8 + difference:.4f}; {sentence}." in page


def result(accuracy: float, rows: Any) -> Result:
    return Result({"test": {"accuracy": accuracy}}, rows, True, 1.0, 1.0)


def test_the_page_of_a_study_counts_its_seeds_and_test_rows(tmp_path: Path) -> None:
    variants = (Variant("tfidf", "tfidf"), Variant("frozen", "frozen"))
    study = Study("s", "S", (Data("A", {"data": "snips"}),), variants, (0, 1))
    cells = study.cells()
    results = {cell.key: result(0.85 if cell.variant == "frozen" else 0.8, {"train": 80, "test": 20}) for cell in cells}
    table = fill(study, TableSpec("T"), cells, results)
    write_files(tmp_path, study, [table], cells, results, "phasefit compare", [])
    start = (
        "On A, frozen leads with 0.8500; 2 seeds cannot tell whether frozen is better than tfidf (+5 points on 20 test "
    )
    for file in ("report.html", "results.md", "results.json"):
        assert start in (tmp_path / file).read_text(encoding="utf-8")
    assert "use --seeds 5 and more test rows." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_scored_rows_add_up_over_folds_and_are_unknown_if_seeds_differ() -> None:
    study = Study("s", "S", (Data("A", {"data": "snips"}),), (Variant("tfidf", "tfidf"),), (0, 1), folds=2)
    cells = study.cells()
    same = {cell.key: result(0.8, {"train": 30, "validation": 5 + cell.spec.seed, "test": 10}) for cell in cells}
    assert repetitions(cells, same) == {("A", "tfidf"): Repetitions(2, {"test": 20})}
    tasks = {cell.key: result(0.8, {"one": {"train": 30, "test": 10}}) for cell in cells}
    assert repetitions(cells, tasks) == {("A", "tfidf"): Repetitions(2)}
    assert repetitions(cells, {}) == {}


@pytest.mark.parametrize(
    ("seeds", "others", "sentence"),
    [
        (1, {"b": (-0.01, None)}, "1 seed cannot tell whether it is better than b (-1 point); use --seeds 5."),
        (
            *(1, {"b": (-0.01, None), "c": (-0.3, None)}),
            "1 seed cannot tell whether it is better than b and c (b: -1 point); use --seeds 5.",
        ),
        (5, {"b": (-0.1, 0.01), "c": (-0.3, 0.001)}, "it is better than b and c."),
        (
            *(6, {"b": (-0.1, 0.01), "c": (-0.02, 0.3)}),
            "it is better than b; 6 seeds cannot tell whether it is better than c (-2 points, p = 0.3); "
            "use --seeds 12.",
        ),
    ],
)
def test_a_lead_of_the_first_variant(seeds: int, others: dict[str, tuple[float, float | None]], sentence: str) -> None:
    rows = [{**row("a", 0.9), "n": seeds}]
    rows += [{**row(name, 0.9 + gain, difference=gain, p=p), "n": seeds} for name, (gain, p) in others.items()]
    assert verdicts([{"title": "T", "metric": "test.accuracy", "rows": rows}]) == [
        f"On snips, a leads with 0.9000; {sentence}"
    ]


def test_folds_ties_and_single_recipes() -> None:
    def only(*rows: dict[str, Any]) -> str:
        evidence = Evidence({("snips", one["variant"]): Repetitions(1, {"test": 9}) for one in rows})
        return verdicts([{"title": "T", "metric": "test.accuracy", "rows": rows}], evidence)[0]

    assert only(row("a", 0.9)) == "On snips, a reaches 0.9000."
    assert only(row("a", 0.9), row("b", 0.9, difference=0.0, p=1.0, needs_rows=True)) == (
        "On snips, a and b are tied at 0.9000; 1 seed with 3 folds cannot tell which is better; use --seeds 5."
    )


def test_ranks_decide_who_leads() -> None:
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
