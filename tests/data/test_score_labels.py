"""Scores: numbers on a scale, and places on a scale of named levels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data import read_dataset, read_table
from phasefit.data.hygiene import hygiene
from phasefit.data.labels import LabelSpace, ScoreLabels, label_space
from phasefit.data.labels.score import BINS
from phasefit.data.named.summary import describe
from phasefit.data.table import Table, content_hash, label_name
from phasefit.errors import LabelError

LEVELS = ("bad", "fair", "good")
SCORES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40).filter(lambda scores: len(set(scores)) > 1)


def scale(labels: list[Any], levels: tuple[str, ...] = ()) -> ScoreLabels:
    space = label_space(labels, "score", levels=levels)
    assert isinstance(space, ScoreLabels)
    return space


def test_a_head_learns_standard_units() -> None:
    scores = [1.0, 2.0, 3.0, 6.0]
    space = scale(scores)
    assert (space.mean, space.outputs, len(space)) == (3.0, 1, 0)
    standard = space.standard(space.values(scores))
    assert standard.mean() == pytest.approx(0)
    assert standard.std() == pytest.approx(1)
    assert space.from_standard(standard).tolist() == pytest.approx(scores)


def test_groups_have_about_equal_sizes() -> None:
    scores = np.random.default_rng(0).exponential(size=1000)
    space = scale(scores.tolist())
    codes = space.encode(scores.tolist())
    assert len(space.groups) == BINS
    assert np.bincount(codes).tolist() == pytest.approx([100] * BINS, abs=2)
    assert space.groups[0].startswith("below ")
    assert " to " in space.groups[1]
    assert space.groups[-1].startswith("from ")
    assert np.array_equal(space.targets(space.values(scores.tolist())), codes)


def test_few_distinct_scores_make_few_groups() -> None:
    space = scale([0.0] * 50 + [0.5] * 30 + [1.0] * 20)
    assert space.groups == ["below 0.5", "0.5 to 1", "from 1"]
    assert space.encode([0.0, 0.5, 1.0, -9.0, 9.0]).tolist() == [0, 1, 2, 0, 2]


def test_levels_are_places_on_a_scale() -> None:
    space = scale([0.0, 2.0, 1.0, 1.0], LEVELS)
    assert (space.levels, space.groups, len(space), space.outputs) == (LEVELS, list(LEVELS), 3, 1)
    assert space.encode([2.0, 0.0, 1.0]).tolist() == [2, 0, 1]
    assert [space.level_of(score) for score in (-7.0, 0.49, 0.5, 1.2, 1.5, 99.0)] == [
        "bad", "bad", "fair", "fair", "good", "good",
    ]  # fmt: skip
    assert [space.name(1.0), space.name("good")] == ["fair", "good"]
    assert space.class_values(np.arange(3)).tolist() == [0.0, 1.0, 2.0]


def test_a_level_without_rows_keeps_its_place() -> None:
    space = scale([0.0, 2.0], LEVELS)
    assert space.groups[space.encode([2.0])[0]] == "good"


def test_ranges_have_no_class_texts() -> None:
    with pytest.raises(LabelError, match="have no class names to use as texts; remove class_texts"):
        scale([0.5, 1.5]).class_values(np.arange(2))


def test_new_scores_do_not_change_the_scale() -> None:
    space = scale([0.5, 1.5])
    assert space.extend([99.0]) is space
    assert space.knows(99.0)
    assert not space.knows(float("nan"))
    assert not space.knows("a")


@pytest.mark.parametrize("label", ["a", "1.5", True, None, float("nan"), float("inf"), 10**400, 1e200, frozenset("a")])
def test_values_that_are_not_scores(label: object) -> None:
    with pytest.raises(LabelError, match=r"^test, row 2: .* is not a score; scores are numbers"):
        scale([0.5, 1.5]).values([1.0, label], where="test")  # type: ignore[list-item]


@pytest.mark.parametrize("labels", [[0.5, 0.5], [0.5], []])
def test_equal_scores_are_refused(labels: list[float]) -> None:
    with pytest.raises(LabelError, match=r"^t\.csv: all scores are the same; there is nothing to learn"):
        label_space(labels, "score", where="t.csv")


@given(scores=SCORES)
def test_any_scores_survive(scores: list[float]) -> None:
    space = scale(scores)
    again = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert hash(again) == hash(space)
    assert isinstance(again, ScoreLabels)
    values = again.values(scores)
    assert values.tolist() == scores
    assert np.allclose(again.from_standard(again.standard(values)), scores, atol=1e-6)
    codes = again.encode(scores)
    assert len(again.groups) <= BINS
    assert codes.min() >= 0
    assert codes.max() < len(again.groups)
    order = np.argsort(values, kind="stable")
    assert (np.diff(codes[order]) >= 0).all(), "higher scores are never in lower groups"


@given(places=st.lists(st.integers(0, 2), min_size=2, max_size=9).filter(lambda places: len(set(places)) > 1))
def test_any_levels_survive(places: list[int]) -> None:
    space = scale(list(map(float, places)), LEVELS)
    again = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert again != scale(list(map(float, places)))
    assert again.encode(list(map(float, places))).tolist() == places


GOOD = {"kind": "score", "mean": 0.0, "spread": 1.0, "edges": [0.5], "levels": []}


@pytest.mark.parametrize(
    "damage",
    [
        {"mean": None},
        {"mean": float("nan")},
        {"spread": 0},
        {"spread": -1.0},
        {"edges": 3},
        {"edges": ["x"]},
        {"levels": None},
        {"levels": ["a", "a"]},
    ],
)
def test_a_damaged_scale_is_refused(damage: dict[str, object]) -> None:
    assert LabelSpace.from_json(GOOD).kind == "score"
    with pytest.raises(LabelError, match="the saved scale of scores is incomplete; the file is damaged"):
        LabelSpace.from_json(GOOD | damage)


def test_levels_come_with_the_table(write) -> None:
    path = write("t.csv", "text,label\na,good\nb,bad\nc, fair\n")
    table = read_table(path, levels=LEVELS)
    assert (table.labels, table.levels) == ([2.0, 0.0, 1.0], LEVELS)
    assert table.take(np.array([1])).levels == LEVELS
    assert read_table(path, kind="single").levels == ()


def test_scores_are_no_classes() -> None:
    table = Table("t", ["one", "two", "One"], [0.5, 1.5, 2.5])
    part = hygiene({"train": table}).parts["train"]
    assert part.classes is None
    assert (part.conflicting_texts, part.conflicts[0].labels) == (1, ("0.5", "2.5"))
    described = describe(table)
    assert (described.kind, described.classes, described.counts, described.imbalance) == ("score", None, {}, None)
    assert label_name(0.5) == "0.5"
    assert len({content_hash([Table("t", ["x"], [label])]) for label in (1, 1.0, "1", "1.0", 1.5)}) == 5


def test_the_other_splits_have_labels_of_the_same_kind_as_train(tmp_path) -> None:
    rows = "".join(f"text {number},{number / 7:.3f}\n" for number in range(30))
    (tmp_path / "train.csv").write_text(f"text,label\n{rows}")
    (tmp_path / "test.csv").write_text("text,label\na,0.5\nb,2\n")
    data = read_dataset(tmp_path)
    assert data.train.labels is not None
    assert data.train.labels[1] == 0.143
    assert data.test is not None
    assert data.test.labels == [0.5, 2.0]
