"""Missing datasets are reported before training; the gain against rows as lines and pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phasefit.errors import DataError
from phasefit.studies.formats import to_markdown
from phasefit.studies.gains import curve, gains, training_rows, write_gains
from phasefit.studies.plan import missing, needed, refuse_missing
from phasefit.studies.scaling import Selection, scale_study
from phasefit.studies.study import Data, Published, Study, TableSpec, Variant
from phasefit.studies.study_file import FigurePart
from phasefit.studies.study_reading import find_study
from phasefit.studies.tables import Row, Table, _published

FIGURE = FigurePart(title="Gain against rows", variant="more", against="base", tables=[2, 3])


def table(number: str, dataset: str, base: float, more: float, published: tuple[float, float] | None = None) -> Table:
    one, two = published or (None, None)
    rows = (
        Row(dataset, "base", 4, base, published=one),
        Row(
            dataset,
            "more",
            4,
            more,
            difference_low=more - base - 0.01,
            difference_high=more - base + 0.01,
            published=two,
        ),
    )
    return Table("T", "test.accuracy", rows, number=number)


@pytest.fixture
def points() -> list:
    tables = [
        table("2", "A", 0.80, 0.84, (0.798, 0.8209)),
        table("2", "B", 0.70, 0.72, (0.9, 0.905)),
        table("3", "C", 0.90, 0.89, (0.95, 0.951)),
        table("6", "D", 0.10, 0.90),  # not a table of the figure
    ]
    return gains(FIGURE, tables, {"A": 400, "B": 400, "C": 800, "D": 9}, {"A": 1000, "B": 1000, "C": 5452})


def test_gains_in_points_by_rows(points: list) -> None:
    assert [(one.dataset, one.rows, round(one.gain, 6)) for one in points] == [
        ("A", 400, 4.0),
        ("B", 400, 2.0),
        ("C", 800, -1.0),
    ]
    assert (points[0].published, points[0].published_rows) == (pytest.approx(2.29), 1000)
    assert (points[2].low, points[2].high) == (pytest.approx(-2), pytest.approx(0, abs=1e-9))


def test_a_gain_is_that_of_the_runs_that_both_variants_have() -> None:
    part = table("2", "A", 0.80, 0.84)
    base, more = part.rows
    unequal = replace(part, rows=(replace(base, n=3), replace(more, difference=0.01)))
    (one,) = gains(FIGURE, [unequal], {"A": 400}, {})
    assert one.gain == pytest.approx(1.0), "not the difference of means over other runs"


def test_a_line_goes_through_the_means(points: list) -> None:
    drawn = curve(FIGURE, points)
    ours, theirs = (line["points"] for line in drawn["lines"])
    assert [point[:2] for point in ours] == [[400, pytest.approx(3.0)], [800, pytest.approx(-1.0)]]
    assert ours[1][2:] == [pytest.approx(-2), pytest.approx(0, abs=1e-9)]  # one dataset: its own interval
    assert [point[0] for point in theirs] == [1000, 5452]
    assert theirs[0][1] == pytest.approx((2.29 + 0.5) / 2)


def test_a_dataset_in_several_sizes_has_its_own_line() -> None:
    names = ("A-1", "A-2", "B-1", "B-2")
    tables = [table("2", name, 0.80, 0.80 + place / 100) for place, name in enumerate(names, start=1)]
    rows, sources = dict(zip(names, (100, 200, 100, 200), strict=True)), {name: name[0] for name in names}
    lines = {line["name"]: line["points"] for line in curve(FIGURE, gains(FIGURE, tables, rows, {}, sources))["lines"]}
    assert {name: [point[:2] for point in line] for name, line in lines.items()} == {
        "A": [[100, pytest.approx(1.0)], [200, pytest.approx(2.0)]],
        "B": [[100, pytest.approx(3.0)], [200, pytest.approx(4.0)]],
    }
    one_size = gains(FIGURE, tables[:3], rows, {}, sources)
    assert [line["name"] for line in curve(FIGURE, one_size)["lines"]] == ["ours"]


def test_the_figure_is_written(points: list, tmp_path: Path) -> None:
    files = write_gains(tmp_path, FIGURE, points)
    assert [path.suffix for path in files] == [".csv", ".png", ".svg"]
    assert files[0].read_text(encoding="utf-8").splitlines()[3].startswith("C,800,-1.0")
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert "Gain against rows" in files[2].read_text(encoding="utf-8")


def test_rows_come_from_the_card_or_the_limit() -> None:
    assert training_rows(Data("x", {"data": "trec"})) == 5452
    assert training_rows(Data("x", {"data": "trec", "rows": 1000})) == 1000
    assert training_rows(Data("x", {"data": "snips", "rows": 1000})) == 328
    assert training_rows(Data("x", {"data": "own.csv"})) is None


def test_the_error_names_all_missing_datasets_and_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PHASEFIT_DATA", str(tmp_path))
    info = find_study("three-phase")
    study = scale_study(info.file, info.name, Selection("full")).study
    assert missing(study) == {"SST2": "sst2-phrases", "SST5": "sst5", "AGNews": "ag-news", "IMDB": "imdb"}
    with pytest.raises(DataError) as error:
        refuse_missing(study)
    assert "SST2 (sst2-phrases), SST5 (sst5)" in str(error.value)
    assert "--datasets 'SNIPS,SNIPS2'" in str(error.value)
    refuse_missing(scale_study(info.file, info.name, Selection("full", ("snips", "SNIPS2"))).study)
    tasks = find_study("multitask")
    assert missing(scale_study(tasks.file, tasks.name, Selection()).study) == {"cs224n": "cs224n-sst"}
    pairs = Study("s", "S", (Data("x", {"data": "snips"}, pairs="stsb"),), (Variant("v", "untrained"),))
    assert missing(pairs) == {"x": "stsb"}


def test_only_datasets_with_runs_are_needed() -> None:
    info = find_study("triple-entropy")
    study = scale_study(info.file, info.name, Selection("full", (), ("5",))).study
    assert [data.name for data in needed(study)] == ["SST2", "IMDb"]


def test_published_results_of_two_models_are_shown_together() -> None:
    papers = (Published("MiniLM", {"A": {"v": 90.0}}), Published("RoBERTa", {"A": {"v": 95.25}, "B": {"v": 80.0}}))
    spec = TableSpec("T", published=papers)
    assert _published(spec, "A", "v") == (pytest.approx(0.9), "MiniLM", "RoBERTa 95.25")
    assert _published(spec, "B", "v") == (pytest.approx(0.8), "RoBERTa", "")
    assert _published(spec, "C", "v") == (None, None, "")
    rows = tuple(
        Row(name, "v", 2, 0.5, published=figure, published_model=model, note=note)
        for name in "AB"
        for figure, model, note in [_published(spec, name, "v")]
    )
    text = to_markdown("t", "c", [Table("T", "test.accuracy", rows)])
    assert "50.0 (90.0; RoBERTa 95.25)" in text
    assert "50.0 (RoBERTa 80.0)" in text
