"""Several labels per text: reading, encoding and describing sets of classes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data import read_dataset, read_table
from phasefit.data.hygiene import hygiene
from phasefit.data.labels import LabelSpace, MultiLabels, label_space
from phasefit.data.labels.multi import NO_LABEL
from phasefit.data.named.summary import describe
from phasefit.data.table import Table, content_hash, label_name
from phasefit.errors import LabelError
from wild import TEXT

AB, A, NONE = frozenset("ab"), frozenset("a"), frozenset[str]()
SETS = st.lists(st.frozensets(st.one_of(TEXT, st.integers()), max_size=4), min_size=1, max_size=8)


def multi(labels: list[Any]) -> MultiLabels:
    space = label_space(labels, "multi")
    assert isinstance(space, MultiLabels)
    return space


def test_values_mark_the_classes_of_a_text() -> None:
    space = multi([AB, NONE, frozenset("c")])
    assert space.classes == ("a", "b", "c")
    values = space.values([AB, NONE, frozenset("c"), "b"])  # a plain label is a set of one
    assert values.tolist() == [[True, True, False], [False] * 3, [False, False, True], [False, True, False]]
    assert np.array_equal(space.targets(values), values)
    assert space.sets(values) == [AB, NONE, frozenset("c"), frozenset("b")]


def test_one_class_is_enough_since_a_text_may_have_none() -> None:
    assert multi([A, NONE]).names == ["a"]


def test_the_code_of_a_text_is_its_rarest_label() -> None:
    labels = [AB, A, A, frozenset("abc"), frozenset("c"), frozenset("c"), NONE]
    space = multi(labels)
    assert [space.groups[code] for code in space.encode(labels)] == ["b", "a", "a", "b", "c", "c", NO_LABEL]
    assert [space.groups[code] for code in space.encode([AB, frozenset("b"), NONE])] == ["a", "b", NO_LABEL]


def test_a_text_with_a_label_is_never_among_those_without() -> None:
    space = multi([A, AB])
    assert [space.groups[code] for code in space.encode([A, A, A])] == ["a", "a", "a"]


def test_texts_that_represent_a_class_have_only_that_class() -> None:
    assert multi([AB]).class_values(np.array([1, 0])).tolist() == [[False, True], [True, False]]
    assert multi([AB]).none(2).tolist() == [[False, False], [False, False]]


def test_an_unknown_class_in_a_set_is_named_with_its_row() -> None:
    space = multi([frozenset({"joy", "anger"})])
    with pytest.raises(
        LabelError, match=r"^test, row 2: label 'angr' is not one of the 2 known labels; did you mean 'anger'"
    ):
        space.values([frozenset({"joy"}), frozenset({"joy", "angr"})], where="test")
    assert space.knows(frozenset({"joy", "anger"}))
    assert space.knows(NONE)
    assert not space.knows(frozenset({"joy", "angr"}))


def test_numbers_and_their_spelling_match() -> None:
    assert multi([frozenset({1, 2})]).values([frozenset({"2"})]).tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([frozenset({1, "1"})], "both written '1'"),
        ([frozenset({True}), frozenset({2})], "mix true/false with numbers"),
        ([["a", "b"]], r"are sets of classes, not \['a', 'b'\]"),
        ([NONE], "no row has a label; at least one row needs one"),
    ],
)
def test_invalid_labels_are_refused(labels: list[Any], message: str) -> None:
    with pytest.raises(LabelError, match=f"^t.csv: .*{message}"):
        label_space(labels, "multi", where="t.csv")


def test_sets_are_written_in_the_order_of_their_names() -> None:
    assert multi([AB]).name(frozenset("ba")) == label_name(frozenset("ba")) == "a|b"
    assert label_name(NONE) == ""


@given(labels=SETS, more=SETS)
def test_any_sets_survive(labels: list[frozenset[Any]], more: list[frozenset[Any]]) -> None:
    classes = set[Any]().union(*labels)
    every = classes.union(*more)
    if not classes or len(set(map(str, every))) < len(every):
        return
    space = multi(labels)
    again = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert isinstance(again, MultiLabels)
    values = again.values(labels)
    assert again.sets(values) == labels
    for row, code in enumerate(again.encode(labels)):
        assert again.groups[code] == NO_LABEL if not labels[row] else values[row, code]
    wider = space.extend(more)
    assert wider.classes[: len(space)] == space.classes
    assert np.array_equal(wider.values(labels)[:, : len(space)], values)
    assert not wider.values(labels)[:, len(space) :].any()
    assert isinstance(wider, MultiLabels)
    assert wider.sets(wider.values(more)) == more


def test_the_hash_does_not_depend_on_the_order_of_sets() -> None:
    letters = [chr(ord("a") + place) for place in range(26)]
    one, other = frozenset(letters), frozenset(reversed(letters))
    assert content_hash([Table("t", ["x"], [one])]) == content_hash([Table("t", ["x"], [other])])
    different: list[Any] = [AB, A, NONE, "a|b", frozenset({"a|b"}), ("a", "b"), frozenset({1}), frozenset({"1"})]
    assert len({content_hash([Table("t", ["x"], [label])]) for label in different}) == len(different)


def test_classes_are_counted_one_by_one() -> None:
    train = Table("t", ["one", "two", "three", "One"], [AB, A, NONE, A])
    test = Table("t", ["four", "two"], [frozenset("ac"), A])
    report = hygiene({"train": train, "test": test})
    classes = report.parts["train"].classes
    assert classes is not None
    assert (classes.sizes, classes.imbalance) == ({"a": 3, "b": 1}, 3)
    assert (classes.with_one_row, classes.missing) == (("b",), ("c",))
    assert report.parts["test"].classes is not None
    assert report.parts["test"].classes.missing == ("b",)
    assert report.parts["train"].conflicting_texts == 1
    assert report.parts["train"].conflicts[0].labels == ("a|b", "a")
    assert [(overlap.rows, overlap.other_label) for overlap in report.overlaps] == [(1, 0)]
    described = describe(train)
    assert (described.kind, described.classes, described.counts) == ("multi", 2, {"a": 3, "b": 1})


def test_a_part_whose_texts_have_no_label_has_no_classes() -> None:
    assert hygiene({"train": Table("t", ["one two"], [NONE])}).parts["train"].classes is None


def test_the_other_splits_have_labels_of_the_same_kind_as_train(tmp_path) -> None:
    (tmp_path / "train.csv").write_text("text,label\na,x|y\nb,x\nc,y\n")
    (tmp_path / "validation.csv").write_text("text,label\nd,x\ne,\n")
    (tmp_path / "test.csv").write_text("text,label\nf,\n")
    data = read_dataset(tmp_path)
    assert data.train.labels == [frozenset("xy"), frozenset("x"), frozenset("y")]
    assert data.validation is not None
    assert data.validation.labels == [frozenset("x"), NONE]
    assert data.test is not None
    assert data.test.labels is None  # a column without any label counts as withheld


def test_rows_of_a_json_file(write) -> None:
    path = write("t.jsonl", '{"text":"a","label":["x","y"]}\n{"text":"b","label":[]}\n{"text":"c","label":null}\n')
    assert read_table(path).labels == [frozenset("xy"), NONE, NONE]
