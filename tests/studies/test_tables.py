"""Tables out of results, and the files they are written to."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from phasefit.metrics.jackknife import replicates
from phasefit.metrics.registry import metric_at
from phasefit.studies.cell import Cell
from phasefit.studies.formats import cells, metric_name, to_csv, to_json, to_latex, to_markdown
from phasefit.studies.page import write_study_page
from phasefit.studies.result import Result, figure, read_result, usual_score
from phasefit.studies.run_study import page_content
from phasefit.studies.statistics import holm, paired
from phasefit.studies.study import Data, Published, Study, TableSpec, Variant
from phasefit.studies.tables import ALL, Row, Table, fill

ACCURACY = {  # by dataset and variant, a figure for each seed
    ("A", "base"): [0.80, 0.82, 0.81],
    ("A", "ours"): [0.84, 0.85, 0.86],
    ("B", "base"): [0.60, 0.60, 0.63],
    ("B", "ours"): [0.59, 0.61, 0.60],
}
MANY = {"train": 8 * 10**10, "test": 2 * 10**10}  # rows whose choice has no effect


def result(accuracy: float, **changes: Any) -> Result:
    metrics = {"test": {"accuracy": accuracy, "log_loss": 1 - accuracy}}
    known: dict[str, Any] = {"rows": {"train": 80, "test": 20}, "own_test": False, "seconds": 60.0, "memory_mb": 500.0}
    return Result(metrics, **(known | changes))


def filled(spec: TableSpec, **changes: Any) -> Table:
    datasets = (Data("A", {"data": "snips"}), Data("B", {"data": "snips2"}))
    study = Study("s", "S", datasets, (Variant("base", "finetune"), Variant("ours", "three-phase")), (0, 1, 2))
    grid = study.cells()
    results = {cell.key: result(ACCURACY[cell.dataset, cell.variant][cell.spec.seed], **changes) for cell in grid}
    return fill(study, spec, grid, results)


def test_means_differences_and_ranks() -> None:
    table = filled(TableSpec("T"), rows=MANY)
    rows = {(row.dataset, row.variant): row for row in table.rows}
    ours = rows["A", "ours"]
    assert table.metric == "test.accuracy"
    assert ours.mean == pytest.approx(0.85)
    assert ours.difference == pytest.approx(0.04)
    assert ours.p == pytest.approx(paired(ACCURACY["A", "ours"], ACCURACY["A", "base"], overlap=0.25).p)
    assert (rows["A", "base"].difference, rows["A", "base"].p) == (None, None)
    assert (rows["A", "ours"].rank, rows["B", "ours"].rank) == (1.0, 2.0)
    assert ours.minutes == 1.0


def test_a_separate_test_table_needs_no_correction() -> None:
    rows = {(row.dataset, row.variant): row for row in filled(TableSpec("T"), own_test=True, rows=MANY).rows}
    assert rows["A", "ours"].p == pytest.approx(paired(ACCURACY["A", "ours"], ACCURACY["A", "base"]).p)


@pytest.mark.parametrize("own_test", [False, True])
def test_few_test_rows_widen_intervals(own_test: bool) -> None:
    def table(rows: int) -> tuple[Row, Row]:
        base, ours, *_ = filled(TableSpec("T"), own_test=own_test, rows={"train": 4 * rows, "test": rows}).rows
        return base, ours

    def width(row: Row) -> float:
        return (row.difference_high or 0.0) - (row.difference_low or 0.0)

    (few_base, few), (many_base, many) = table(20), table(10**6)
    assert width(few) > 2 * width(many)
    assert (few.p or 0) > (many.p or 0)
    assert (few_base.low or 0) < (many_base.low or 0)
    assert (few.needs_rows, many.needs_rows) == (own_test, False)


def test_equal_seeds_are_not_certain() -> None:
    study = Study(
        "s", "S", (Data("A", {"data": "snips"}),), (Variant("base", "tfidf"), Variant("ours", "frozen")), (0, 1)
    )
    grid = study.cells()
    for scores in ({"base": 0.8, "ours": 0.85}, {"base": 0.9, "ours": 0.9}, {"base": 1.0, "ours": 1.0}):
        results = {cell.key: result(scores[cell.variant], own_test=True) for cell in grid}
        base, ours = fill(study, TableSpec("T"), grid, results).rows
        for row in (base, ours):
            assert row.low is not None
            assert row.high is not None
            assert row.high - row.low > 0.1
            assert all(cells(row, Table("T", "test.accuracy", (row,)))[:5])
        assert ours.difference_low is not None
        assert ours.difference_low < 0 < (ours.difference_high or 0)
        assert (ours.p or 0) > 0.2


def test_models_are_compared_on_the_same_groups_of_rows() -> None:
    rng = np.random.default_rng(0)
    right = {"base": rng.random(400) < 0.8}
    right["ours"] = right["base"] | (rng.random(400) < 0.2)  # never wrong where the other is right
    right["other"] = rng.random(400) < right["ours"].mean()
    variants = tuple(Variant(name, recipe) for name, recipe in zip(right, ("majority", "tfidf", "frozen"), strict=True))
    study = Study("s", "S", (Data("A", {"data": "snips"}),), variants, (0, 1))
    results = {}
    for cell in study.cells():
        own = right[cell.variant]
        known = replicates(lambda rows, own=own: {"accuracy": own[rows].mean()}, 400)
        rows = {"train": 900, "test": 400}
        results[cell.key] = result(float(own.mean()), own_test=True, rows=rows, replicates=known)
    base, ours, other = fill(study, TableSpec("T"), study.cells(), results).rows
    assert base.low == pytest.approx(base.mean - stats.t.ppf(0.975, 19) * 0.02, abs=0.008)  # sqrt(.8 * .2 / 400)
    assert (ours.difference_high or 0) - (ours.difference_low or 0) < 0.6 * (
        (other.difference_high or 0) - (other.difference_low or 0)
    )


def test_several_datasets_get_rows_over_all_of_them() -> None:
    base, ours = filled(TableSpec("T")).overall
    assert (base.dataset, base.n, base.p) == (ALL, 2, None)
    assert ours.difference == pytest.approx((0.04 - 0.01) / 2)
    assert ours.rank == pytest.approx(1.5)
    assert ours.p == 1.0  # two datasets, one better and one worse


def test_datasets_with_different_scores_have_no_row_over_all() -> None:
    study = Study(
        "s",
        "S",
        (Data("A", {"data": "snips"}), Data("B", {"data": "snips2"})),
        (Variant("base", "finetune"), Variant("ours", "three-phase")),
    )
    grid = study.cells()
    pearson = Result({"test": {"pearson": 0.5}}, {}, True, 1.0, 1.0)
    results = {cell.key: result(0.5) if cell.dataset == "A" else pearson for cell in grid}
    table = fill(study, TableSpec("T"), grid, results)
    assert table.overall == ()
    assert "A by accuracy; B by pearson" in table.note


def test_differences_stay_within_their_bounds() -> None:
    for row in filled(TableSpec("T"), rows={"train": 1, "test": 9}).rows:
        assert row.difference_high is None or -1 <= row.difference_high <= 1


def test_less_is_better_for_errors() -> None:
    table = filled(TableSpec("T", "test.log_loss"))
    rows = {(row.dataset, row.variant): row for row in table.rows}
    assert rows["A", "ours"].rank == 1.0


def test_published_results_are_shown_next_to_ours() -> None:
    paper = Published("RoBERTa", {"A": {"ours": 95.1}})
    table = filled(TableSpec("T", published=(paper,)))
    row = next(row for row in table.rows if (row.dataset, row.variant) == ("A", "ours"))
    assert (row.published, row.published_model) == (pytest.approx(0.951), "RoBERTa")
    assert "(95.1)" in to_markdown("t", "c", [table])
    assert "RoBERTa" in to_markdown("t", "c", [table])


def test_cells_without_a_result_do_not_affect_others() -> None:
    study = Study("s", "S", (Data("A", {"data": "snips"}),), (Variant("base", "finetune"), Variant("ours", "joint")))
    grid = study.cells()
    table = fill(study, TableSpec("T"), grid, {grid[0].key: result(0.5)})
    assert [row.variant for row in table.rows] == ["base"]


def test_the_default_score_depends_on_the_labels() -> None:
    def judged(**metrics: Any) -> str:
        return usual_score(Result({"test": metrics}, {}, True, 1.0, 1.0))

    assert judged(accuracy=1.0, macro_f1=1.0) == "test.accuracy"
    assert judged(accuracy=0.1, micro_f1=0.5) == "test.micro_f1"
    assert judged(pearson=0.5, mse=1.0) == "test.pearson"
    assert judged(mean=0.5, tasks={}) == "test.mean"


def test_values_by_path() -> None:
    metrics = {"test": {"levels": [{"accuracy": 0.5}], "rows": 3, "sure": True}}
    assert figure(metrics, "test.levels.0.accuracy") == 0.5
    assert figure(metrics, "test.rows") == 3.0
    assert figure(metrics, "test.sure") is None
    assert figure(metrics, "test.levels.7.accuracy") is None
    assert figure(metrics, "nothing.here") is None


def test_a_damaged_result_is_none(tmp_path: Path) -> None:
    assert read_result(tmp_path) is None
    (tmp_path / "result.json").write_text("{half")
    assert read_result(tmp_path) is None
    (tmp_path / "result.json").write_text("{}")
    assert read_result(tmp_path) is None
    known = {"rows": {}, "own_test": True, "seconds": 1.0, "memory_mb": 1.0, "command": "c"}
    for phases, is_damaged in (([], False), (3, True), (["denoise"], True)):
        (tmp_path / "result.json").write_text(json.dumps({**known, "metrics": {"phases": phases}}))
        assert (read_result(tmp_path) is None) is is_damaged


def test_csv_and_json_have_full_precision() -> None:
    table = filled(TableSpec("T"))
    lines = list(csv.DictReader(io.StringIO(to_csv([table]))))
    assert len(lines) == 6
    assert float(lines[1]["mean"]) == next(row.mean for row in table.rows if row.variant == "ours")
    assert json.loads(to_json(table.to_json()))["rows"][1]["variant"] == "ours"


@given(st.text(max_size=30), st.text(max_size=30))
def test_names_cannot_break_out_of_their_cells(dataset: str, variant: str) -> None:
    table = Table("T", "test.accuracy", (Row(dataset, variant, 1, 0.5),))
    line = next(line for line in to_markdown("t", "c", [table]).split("\n") if "| 1 | 50.00 |" in line)
    plain = line.replace("\\\\", "").replace("\\|", "")
    assert plain.count("|") == 11
    body = to_latex("t", "c", [table]).split("\\midrule\n")[1].split("\n\\bottomrule")[0]
    bare = body.replace("\\&", "")
    assert bare.count("&") == 9
    assert list(csv.reader(io.StringIO(to_csv([table]), newline="")))[1][2:4] == [dataset, variant]


def test_cells_are_formatted_for_people() -> None:
    table = Table("T", "test.accuracy", ())
    row = Row("A", "ours", 3, 0.8512, 0.01, 0.84, 0.86, 0.02, -0.01, 0.05, 0.0004, 1.0, 2.5, 1234.0)
    assert cells(row, table) == [
        *("A", "ours", "3", "85.12 ± 1.00", "84.00 to 86.00", "+2.00 [-1.00, +5.00]", "<0.001", "1.0", "2.5", "1,234")
    ]
    assert metric_name("test.macro_f1") == "macro F1 on test"
    assert metric_name("validation.tasks.sst.accuracy") == "sst accuracy on validation"


def test_errors_are_not_shown_in_per_cent() -> None:
    assert cells(Row("A", "x", 1, 0.5), Table("T", "test.mse", ()))[3] == "0.50"


def test_cell_names_for_messages() -> None:
    study = Study("s", "S", (Data("A", {"data": "snips"}),), (Variant("base", "finetune"),), folds=2)
    grid: list[Cell] = study.cells()
    assert grid[1].name == "base on A, seed 0, fold 2 of 2"


def test_the_base_is_the_first_variant_or_none() -> None:
    datasets = (Data("A", {"data": "snips"}),)
    variants = (Variant("first", "majority"), Variant("base", "tfidf"), Variant("ours", "frozen"))
    study = Study("s", "S", datasets, variants, (0, 1, 2))
    grid = study.cells()
    results = {
        cell.key: result(ACCURACY["A", cell.variant][cell.spec.seed]) for cell in grid if cell.variant != "first"
    }
    table = fill(study, TableSpec("T"), grid, results)
    assert [row.variant for row in table.rows] == ["base", "ours"]
    assert [row.difference for row in table.rows] == [None, None], "the second variant does not become the base"
    assert table.note == "6 of 9 cells are in; missing: first on A."
    against = fill(study, TableSpec("T", against="base", variants=("base", "ours")), grid, results)
    assert against.rows[1].difference == pytest.approx(0.04)


def test_a_constant_prediction_has_no_correlation() -> None:
    assert figure({"test": {"pearson": None}}, "test.pearson") == 0.0
    assert figure({"test": {"roc_auc": None}}, "test.roc_auc") is None
    assert figure({}, "test.pearson") is None
    assert figure({"test": {"accuracy": 0.5}}, "test.pearson") is None, "a classifier has no correlation"


def test_calibration_errors_rank_the_lowest_first() -> None:
    datasets, variants = (Data("A", {"data": "snips"}),), (Variant("off", "tfidf"), Variant("right", "frozen"))
    study = Study("s", "S", datasets, variants)
    grid = study.cells()
    errors = {"off": 0.3, "right": 0.0}
    results = {cell.key: Result({"test": {"ece": errors[cell.variant]}}, {}, True, 1.0, 1.0) for cell in grid}
    table = fill(study, TableSpec("T", "test.ece"), grid, results)
    assert {row.variant: row.rank for row in table.rows} == {"right": 1.0, "off": 2.0}


@pytest.mark.parametrize(
    ("metric", "bounds"),
    [
        ("test.accuracy", (0, 1)),
        ("test.tasks.sts.pearson", (-1, 1)),
        ("validation.mean", (-1, 1)),
        ("test.r2", (-float("inf"), 1)),
        ("test.mse", (0, float("inf"))),
        ("test.ece", (0, 1)),
    ],
)
def test_bounds_of_metrics(metric: str, bounds: tuple[float, float]) -> None:
    assert metric_at(metric).bounds == bounds


def test_overlap_is_that_of_the_scored_split() -> None:
    known = result(0.5, rows={"train": 96, "validation": 24, "test": 12}, own_test=True)
    assert known.overlap_on("test") == 0
    assert known.overlap_on("validation") == 0.25
    rows = {"a": {"train": 100, "test": 50}, "b": {"train": 100, "test": 10}}
    tasks = result(0.5, rows=rows, own_test={"a": False, "b": True})
    assert tasks.overlap_on("test") == 0.25
    assert result(0.5, rows=rows, own_test=False).overlap_on("test") == pytest.approx(0.3)


def test_holm_counts_comparisons_without_a_p_value() -> None:
    assert holm([0.01, None, None], 3) == [pytest.approx(0.03), None, None]
    assert holm([0.01, None]) == [0.01, None]


def test_a_reverted_phase_is_marked_and_explained(tmp_path: Path) -> None:
    datasets = (Data("A", {"data": "snips"}),)
    study = Study("s", "S", datasets, (Variant("base", "finetune"), Variant("ours", "three-phase")), (0, 1))
    results = {}
    for cell in study.cells():
        one = result(0.8)
        reverted = cell.variant == "ours" and cell.spec.seed == 1
        phases = [{"name": "denoise", "reverted": reverted}, {"name": "finetune", "reverted": False}]
        results[cell.key] = replace(one, metrics={**one.metrics, "phases": phases})
    table = fill(study, TableSpec("T", note="A note."), study.cells(), results)
    base, ours = table.rows
    assert (base.reverted, ours.reverted) == ("", "denoise in 1 of 2 runs")
    assert cells(ours, table)[3].endswith(" †")
    assert "†" not in cells(base, table)[3]
    assert table.note.startswith("A note. † A, ours: denoise in 1 of 2 runs: no evaluation was better")
    assert "denoise in 1 of 2 runs" in to_markdown("S", "c", [table])
    foreign = replace(table, note="† <b>x</b> in 1 of 2 runs, p < 0.05")
    assert r"† \<b>x\</b> in 1 of 2 runs, p < 0.05" in to_markdown("S", "c", [foreign], ["<script>"])
    assert r"- \<script>" in to_markdown("S", "c", [foreign], ["<script>"])
    assert r"$\dagger$" in to_latex("S", "c", [table])
    assert "†" not in filled(TableSpec("T")).note
    content = page_content(study, [table], study.cells(), results, "c", [])
    assert [cell["reverted"] for cell in content["cells"]] == ["", "", "", "denoise"]
    write_study_page(tmp_path / "report.html", content)
    assert "reverted phases" in (tmp_path / "report.html").read_text(encoding="utf-8")
