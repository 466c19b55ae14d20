"""Hygiene: counts agree with brute force."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.data.equal_texts import normal_form
from phasefit.data.hygiene import Hygiene, hygiene, lengths, shared
from phasefit.data.table import Table

TEXTS = st.sampled_from(["a", "A", "a b", "A  b ", "B", "?!", "x1", "日本", "🙂", "_ _", "one two three", "É", "é é"])
LABELS = st.sampled_from(["x", "y", "z"])
ROWS = st.lists(st.tuples(TEXTS, LABELS), min_size=1, max_size=25)


def table(rows: list[tuple[str, str]], name: str = "t") -> Table:
    return Table(name, [text for text, _ in rows], [label for _, label in rows])


@settings(deadline=None, max_examples=150)
@given(ROWS)
def test_a_part_agrees_with_brute_force(rows: list[tuple[str, str]]) -> None:
    part = hygiene({"train": table(rows)}).parts["train"]
    normal = [normal_form(text) for text, _ in rows]
    labels_of = {
        text: {label for other, (_, label) in zip(normal, rows, strict=True) if other == text} for text in normal
    }
    assert part.rows == len(rows)
    assert part.repeated == sum(text in normal[:row] for row, text in enumerate(normal))
    torn = {text for text, labels in labels_of.items() if len(labels) > 1}
    assert part.conflicting_texts == len(torn)
    assert part.conflicting_rows == sum(text in torn for text in normal)
    empty = [row + 1 for row, (text, _) in enumerate(rows) if sum(letter.isalnum() for letter in text) < 2]
    assert part.near_empty == len(empty)
    assert list(part.near_empty_rows) == empty[:10]
    words = [len(text.split()) for text, _ in rows]
    assert (part.words.least, part.words.most) == (min(words), max(words))
    assert part.words.median == np.median(words)
    assert sum(word <= part.words.p95 for word in words) >= 0.95 * len(words)
    assert sum(word < part.words.p95 for word in words) < 0.95 * len(words)
    assert sum(texts for _, _, texts in part.words.histogram) == len(rows)
    counts = Counter(label for _, label in rows)
    assert part.classes is not None
    assert part.classes.sizes == counts
    assert set(part.classes.with_one_row) == {label for label, count in counts.items() if count == 1}
    for conflict in part.conflicts:
        for number, label in zip(conflict.rows, conflict.labels, strict=True):
            assert rows[number - 1][1] == label
            assert normal_form(rows[number - 1][0]) == normal_form(conflict.text)
        assert len(set(conflict.labels)) == len(conflict.labels) > 1


@settings(deadline=None, max_examples=150)
@given(ROWS, ROWS, ROWS)
def test_overlaps_agree_with_brute_force(train: list, validation: list, test: list) -> None:
    given_parts = {"train": train, "validation": validation, "test": test}
    report = hygiene({name: table(rows) for name, rows in given_parts.items()})
    assert [(one.part, one.other) for one in report.overlaps] == [
        ("validation", "train"),
        ("test", "train"),
        ("test", "validation"),
    ]
    for overlap in report.overlaps:
        there: dict[str, set[str]] = {}
        for text, label in given_parts[overlap.other]:
            there.setdefault(normal_form(text), set()).add(label)
        both = [(normal_form(text), label) for text, label in given_parts[overlap.part] if normal_form(text) in there]
        assert overlap.rows == len(both)
        assert overlap.other_label == sum(label not in there[text] for text, label in both)
    everything = {label for rows in given_parts.values() for _, label in rows}
    for name, rows in given_parts.items():
        classes = report.parts[name].classes
        assert classes is not None
        assert set(classes.missing) == everything - {label for _, label in rows}


def test_a_small_table_by_hand() -> None:
    train = Table("t", ["Hello world", "hello  WORLD", "bye now", "?", "bye now", "ok"], ["a", "b", "b", "b", "b", "c"])
    test = Table("t", ["hello world", "new text", "Bye now"], ["a", "b", "a"])
    report = hygiene({"train": train, "validation": None, "test": test, "unlabelled": Table("u", ["x y z", "X y  z"])})
    part = report.parts["train"]
    assert (part.rows, part.repeated, part.conflicting_texts, part.conflicting_rows) == (6, 2, 1, 2)
    assert (part.conflicts[0].rows, part.conflicts[0].labels) == ((1, 2), ("a", "b"))
    assert part.near_empty_rows == (4,)
    assert part.classes is not None
    assert part.classes.imbalance == 4.0
    assert part.classes.with_one_row == ("a", "c")
    assert report.leaked("test") == 2
    assert report.overlaps[0].other_label == 1
    assert report.parts["unlabelled"].classes is None
    assert report.parts["unlabelled"].repeated == 1
    assert report.repeated == 3
    assert report.parts["test"].classes is not None
    assert report.parts["test"].classes.missing == ("c",)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=15), st.integers(2, 3))
def test_pairs_and_triples_agree_with_brute_force(rows: list[tuple[str, ...]], width: int) -> None:
    texts, *others = zip(*(row[:width] for row in rows), strict=True)
    pairs = hygiene({"train": Table("t", texts, others=tuple(others))}).parts["train"].pairs
    normal = [[normal_form(text) for text in row[:width]] for row in rows]
    alike = [row for row, sides in enumerate(normal, start=1) if len(set(sides)) < width]
    anchors, partners = ([row[side] for row in normal] for side in (0, 1))
    assert pairs is not None
    assert (pairs.alike, list(pairs.alike_rows)) == (len(alike), alike[:10])
    assert pairs.shared_anchors == sum(anchors.count(anchor) > 1 for anchor in anchors)
    assert pairs.shared_partners == sum(partners.count(partner) > 1 for partner in partners)
    assert pairs.partners == len(set(partners))


def test_single_texts_are_no_pairs() -> None:
    assert hygiene({"train": Table("t", ["a", "a"])}).parts["train"].pairs is None


def test_labels_are_compared_as_text() -> None:
    report = hygiene({"train": Table("t", ["a b", "c d"], ["1", "2"]), "test": Table("t", ["A b", "e f"], [1, 2])})
    assert report.overlaps[0].other_label == 0
    trees = hygiene({"train": Table("t", ["a b", "a b"], [("x", "y"), ("x", "z")])}).parts["train"]
    assert trees.conflicts[0].labels == ("x/y", "x/z")


def test_examples_are_few_short_and_in_the_order_of_the_file() -> None:
    texts = [f"text {row % 8} " + "word " * 50 for row in range(16)]
    part = hygiene({"train": Table("t", texts, [str(row // 8) for row in range(16)])}).parts["train"]
    assert part.conflicting_texts == 8
    assert [conflict.rows for conflict in part.conflicts] == [(row, row + 8) for row in range(1, 6)]
    assert all(len(conflict.text) == 120 for conflict in part.conflicts)


def test_row_numbers_are_those_of_the_file() -> None:
    whole = Table("t", ["ab", "?", "cd", "-", "AB"], ["x", "x", "y", "y", "z"])
    part = hygiene({"train": whole.take(np.array([4, 3, 0]))}).parts["train"]
    assert part.near_empty_rows == (4,)
    assert part.conflicts[0].rows == (5, 1)


def test_the_report_is_valid_json() -> None:
    report = hygiene({"train": Table("t", ["ab", "AB", "?"], ["x", "y", "z"]), "test": Table("t", ["ab"], ["x"])})
    plain = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert plain["parts"]["train"]["conflicts"][0]["rows"] == [1, 2]
    assert plain["overlaps"][0] == {"part": "test", "other": "train", "rows": 1, "other_label": 0}
    assert hygiene({"train": None}) == Hygiene({})


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([1], [(1, 1, 1)]),
        ([0, 1, 2], [(0, 0, 1), (1, 1, 1), (2, 2, 1)]),
        ([2, 3, 4, 5, 8, 9], [(2, 2, 1), (3, 4, 2), (5, 8, 2), (9, 16, 1)]),
        ([1, 1000], [(1, 1, 1), *((2**p // 2 + 1, 2**p, 0) for p in range(1, 10)), (513, 1024, 1)]),
    ],
)
def test_the_histogram_doubles_its_bins(values: list[int], bins: list[tuple[int, int, int]]) -> None:
    assert list(lengths(np.array(values)).histogram) == bins


def test_shared_with_no_other_table() -> None:
    assert shared(Table("t", ["a"]), []).tolist() == [False]
    assert shared(Table("t", ["a", "b"]), [None, Table("t", ["B"])]).tolist() == [False, True]
