"""Detecting the kind of labels, and reading labels with options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data import read_dataset, read_table
from phasefit.data.checks import Place
from phasefit.data.labels.reading import LabelReading, detect_kind, read_labels
from phasefit.data.labels.score import FEW_NUMBERS
from phasefit.errors import LabelError

PLACE = Place("table")
FRUIT = st.sampled_from(["apple", "pear", "plum", "fig", "quince"])
DECIMALS = [f"{number / 7:.3f}" for number in range(FEW_NUMBERS + 1)]


def read(values: list[Any], **how: Any) -> list[Any]:
    return list(read_labels(values, PLACE, LabelReading(**how)))


def sets(*names: str) -> list[frozenset[str]]:
    return [frozenset(name.split()) for name in names]


KINDS: dict[str, tuple[list[Any], str]] = {
    "names": (["a", "b", "a"], "single"),
    "whole numbers": ([1, 2, 3], "single"),
    "whole floats": ([1.0, 2.0], "single"),
    "whole numbers as text": ([str(number) for number in range(50)], "single"),
    "whole floats as text": ([f"{number}.0" for number in range(50)], "single"),
    "true and false": ([True, False], "single"),
    "a few versions": (["1.0", "1.1", "2.0"], "single"),
    "as many versions as may be": (DECIMALS[:FEW_NUMBERS], "single"),
    "many decimals as text": (DECIMALS, "score"),
    "many decimals, one name": ([*DECIMALS, "other"], "single"),
    "many decimals, one infinite": ([*DECIMALS, "inf"], "single"),
    "decimals with a hole": ([*DECIMALS, ""], "score"),
    "decimal numbers": ([1, 0.5, None], "score"),
    "numpy's decimals": ([np.float32(0.5), np.float64(1)], "score"),
    "lists": ([["a", "b"], ["a"], []], "multi"),
    "a list among names": (["a", ["a", "b"]], "multi"),
    "sets": ([{"a"}, frozenset("ab")], "multi"),
    "arrays": ([np.array(["a", "b"]), np.array(["a"])], "multi"),
    "paths": ([("a", "b"), ("a", "c")], "tree"),
    "joined names whose parts recur": (["a|b", "a", "b"], "multi"),
    "joined names with holes": (["a|b", "a", "b", "", None], "multi"),
    "joined names whose parts do not": (["a|b", "c|d"], "single"),
    "as many parts as names": (["a|b", "a", "c"], "multi"),
    "more parts than names": (["a|b", "c"], "single"),
    "a bar without names around it": (["a", "b", "a|", "b|"], "single"),
    "slashes": (["a/b", "a/c", "a"], "single"),
    "nothing": ([None, ""], "single"),
    "not a label": ([{"a": 1}], "single"),
}


@pytest.mark.parametrize(("values", "kind"), KINDS.values(), ids=KINDS)
def test_the_detected_kind(values: list[Any], kind: str) -> None:
    assert detect_kind(values) == kind


@given(st.lists(st.sets(FRUIT, min_size=1), min_size=1, max_size=30))
def test_joined_names_are_split_into_sets(sets: list[set[str]]) -> None:
    written = ["|".join(sorted(one)) for one in sets]
    assert read(written, kind="multi") == sets
    assert read(["; ".join(sorted(one)) for one in sets], separator=";") == sets
    names = set(written)
    if any("|" in name for name in names) and len(set().union(*sets)) <= len(names):
        assert read(written) == sets
    else:
        assert read(written) == written


@given(st.lists(st.integers(-5000, 5000).map(lambda number: number / 7), min_size=1, max_size=40))
def test_numbers_are_the_same_scores_in_a_file_and_in_memory(scores: list[float]) -> None:
    assert read([repr(score) for score in scores], kind="score") == scores
    assert read(list(scores), kind="score") == scores


def test_an_empty_cell_is_a_text_without_labels() -> None:
    assert read(["a|b", "a", "b", "", None, float("nan")]) == [*sets("a b", "a", "b"), *[frozenset()] * 3]
    assert read(["a | b||", " "], kind="multi") == [frozenset("ab"), frozenset()]
    assert read([["a"], [], None]) == [frozenset("a"), frozenset(), frozenset()]
    with pytest.raises(LabelError, match="table, row 2: the label is missing"):
        read(["a", ""])


def test_a_stated_kind_is_used() -> None:
    assert read(["a|b", "a", "b"], kind="single") == ["a|b", "a", "b"]
    assert read(["a", "b"], kind="multi") == sets("a", "b")
    assert read([1, 2], kind="multi") == [frozenset({1}), frozenset({2})]
    assert read([("a", "b"), ("a",)], kind="multi") == sets("a b", "a")
    assert read(["1", 2, 3.0], kind="score") == [1.0, 2.0, 3.0]
    assert {type(score) for score in read(["1", 2, np.int64(3)], kind="score")} == {float}
    assert read(DECIMALS, kind="single") == DECIMALS
    assert read(["a/b", "a/c"], kind="tree") == [("a", "b"), ("a", "c")]
    assert read([["a", "b"], ["a", "c"]], kind="tree") == [("a", "b"), ("a", "c")]


def test_other_options_determine_the_kind() -> None:
    assert read(["a;b", "c"], separator=";") == sets("a b", "c")
    assert read(["a|b", "c"], separator=";") == sets("a|b", "c")
    assert read(["a>b", "a>c"], tree=">") == [("a", "b"), ("a", "c")]
    assert read(["good", " bad"], levels=("bad", "fair", "good")) == [2.0, 0.0]
    assert read([3, 1.0, "2"], levels=("1", "2", "3")) == [2.0, 0.0, 1.0]
    assert read(["a;b", "c"], kind="multi", separator=";") == sets("a b", "c")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"kind": "scores"}, "unknown kind of labels 'scores'; did you mean 'score'?"),
        ({"kind": "single", "tree": "/"}, "--tree is for labels of kind 'tree', but --kind is 'single'"),
        ({"kind": "tree", "separator": ";"}, "--separator is for labels of kind 'multi', but --kind is 'tree'"),
        ({"kind": "multi", "levels": ("a", "b")}, "--levels is for labels of kind 'score', but --kind is 'multi'"),
        ({"tree": "/", "separator": ";"}, "--tree and --separator are for labels of different kinds"),
        ({"separator": ";", "levels": ("a", "b")}, "--separator and --levels are for labels of different kinds"),
        ({"levels": ("a",)}, "--levels needs at least two different levels, lowest first, e.g. --levels bad,fair,good"),
        ({"levels": ("a", "b", "a")}, "--levels needs at least two different levels, lowest first"),
    ],
)
def test_contradictory_options_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(LabelError) as caught:
        read_table((["x", "y"], ["a", "b"]), **how)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("values", "how", "message"),
    [
        (
            [["a"], ["b"]],
            {"kind": "single"},
            "row 1: the label is a list; for several labels per text use --kind multi",
        ),
        ([0.5, 1.5], {"kind": "single"}, "row 1: label 0.5 is a decimal, not a class; for scores use --kind score"),
        ([1.5, ["a"]], {"kind": "score"}, "row 2: expected one number as the score, found a list"),
        ([1.5, " "], {"kind": "score"}, "row 2: the score is missing; fill it in or remove the row"),
        (["1", "low"], {"kind": "score"}, "row 2: 'low' is not a number; for named levels state the order: --levels"),
        ([1.5, True], {"kind": "score"}, "row 2: True is not a number"),
        (["good", "god"], {"levels": ("bad", "good")}, "row 2: 'god' is not one of the levels; did you mean 'good'?"),
        (["1", "\udc80"], {"levels": ("1", "2")}, "row 2: the label contains a lone surrogate"),
        (["a", "b|\udc80"], {"kind": "multi"}, "row 2: the label contains a lone surrogate"),
        (["a", {"b": 1}], {"kind": "multi"}, "row 2: a label must be a name or a number, not dict"),
        (["a/b", "a/"], {"kind": "tree"}, "row 2: label 'a/' has an empty level at a '/'"),
    ],
)
def test_labels_that_do_not_fit_the_options(values: list[Any], how: dict[str, Any], message: str) -> None:
    with pytest.raises(LabelError) as caught:
        read(values, **how)
    assert str(caught.value).startswith(f"table, {message}")
    str(caught.value).encode()


def test_levels_of_a_tree_are_not_single_labels() -> None:
    with pytest.raises(LabelError, match="table: labels with several levels are of kind 'tree', not 'single'"):
        read([("a", "b"), ("a", "c")], kind="single")


def test_labels_of_another_kind_than_train_are_refused(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text":"a","label":"x"}\n{"text":"b","label":"y"}\n')
    (tmp_path / "test.jsonl").write_text('{"text":"a","label":["x"]}\n')
    with pytest.raises(LabelError, match=r"test\.jsonl, row 1 \(line 1\): the label is a list"):
        read_dataset(tmp_path)
