"""Cells with written lists, as JSON or as Python prints them, are several labels."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from phasefit.data import read_table
from phasefit.data.labels import kind_by_type
from phasefit.data.labels.reading import detect_kind

SETS = [frozenset("ab"), frozenset("b"), frozenset()]


def read(path: Path, cells: list[str], **options: str) -> list[object]:
    pd.DataFrame({"text": [f"text {row}" for row in range(len(cells))], "label": cells}).to_csv(path, index=False)
    return list(read_table(str(path), **options).labels or ())


@pytest.mark.parametrize(
    "cells",
    [['["a","b"]', '["b"]', "[]"], ["['a', 'b']", "['b']", "[]"], [' ["a", "b"] ', "['b']", "[ ]"]],
    ids=["JSON", "Python", "both, with spaces"],
)
def test_a_csv_of_them_has_several_labels_per_text(tmp_path: Path, cells: list[str]) -> None:
    assert detect_kind(cells) == "multi"
    assert read(tmp_path / "t.csv", cells) == SETS
    assert read(tmp_path / "t.csv", cells, kind="multi") == SETS


def test_lists_of_numbers_are_several_labels_too(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", ["[1, 2]", "[2]"]) == [frozenset({1, 2}), frozenset({2})]


def test_names_may_contain_the_separator(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", ['["a|b", "c, d"]', '["c, d"]']) == [
        frozenset({"a|b", "c, d"}),
        frozenset({"c, d"}),
    ]


def test_an_empty_cell_among_them_is_a_text_without_labels(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", ['["a", "b"]', "['b']", ""]) == SETS


@pytest.mark.parametrize(
    "cells", [["[a]", "[b]"], ["[urgent] call", "[later] mail"], ["['a'", "'b']"], ['["a"]', "b"], ['{"a": 1}', "[2"]]
)
def test_names_that_only_look_like_lists_stay_names(tmp_path: Path, cells: list[str]) -> None:
    labels = read(tmp_path / "t.csv", cells)
    assert labels == cells
    assert kind_by_type(labels) == "single"
