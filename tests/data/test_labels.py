"""Label spaces; the contract tests run over every registered kind."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.labels import LABEL_KINDS, LabelSpace, SingleLabels, TreeLabels, label_space
from phasefit.errors import LabelError

EXAMPLES = {
    "single": ["b", "a", "c", "a"],
    "multi": [frozenset("b"), frozenset("a"), frozenset("c"), frozenset("a")],
    "tree": [("x", "1"), ("y", "1"), ("x", "2"), ("y", "1")],
    "score": [2.5, 0.25, 4.0, 0.25],
}
NEW = {"single": ["aa", "0"], "multi": [frozenset({"aa", "0"})], "tree": [("a", "9"), ("x", "3")]}
FRESH = {"single": ["0", "aa"], "multi": ["0", "aa"], "tree": [("a", "9"), ("x", "3")]}
CLASSES = [kind for kind in LABEL_KINDS if kind != "score"]  # kinds with classes


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_contract(kind: str) -> None:
    labels = EXAMPLES[kind]
    space = label_space(labels)
    assert space.kind == kind
    assert isinstance(space, LABEL_KINDS[kind].space)
    codes = space.encode(labels)
    assert codes.dtype == np.int64
    assert codes.shape == (4,)
    assert 0 <= codes.min() < codes.max() < len(space.groups)
    assert codes[1] == codes[3] != codes[0]
    values = space.values(labels)
    assert len(values) == len(space.targets(values)) == len(space.none(4)) == 4
    assert space.none(4).dtype == values.dtype
    assert space.none(4).shape == values.shape
    targets = space.targets(values)
    assert np.array_equal(targets[1], targets[3])
    assert not np.array_equal(targets[0], targets[1])
    assert all(map(space.knows, labels))
    again = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert hash(again) == hash(space)
    assert type(again) is type(space)
    assert again.classes == space.classes
    assert np.array_equal(again.values(labels), values)


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_have_codes_and_names(kind: str) -> None:
    space = label_space(EXAMPLES[kind])
    assert len(space) == len(space.classes) == len(space.names) == space.outputs == 3
    assert space.encode(space.decode([2, 0, 1])).tolist() == [2, 0, 1]
    assert space.encode(space.names).tolist() == [0, 1, 2]  # as read from a CSV
    assert np.array_equal(space.class_values(np.arange(3)), space.values(space.classes))


@pytest.mark.parametrize("kind", CLASSES)
def test_extending_keeps_codes_and_targets(kind: str) -> None:
    space = label_space(EXAMPLES[kind])
    more = space.extend([*NEW[kind], EXAMPLES[kind][0]])
    assert more.classes == (*space.classes, *FRESH[kind])
    old, new = space.values(EXAMPLES[kind]), more.values(EXAMPLES[kind])
    assert np.array_equal(new[:, :3] if kind == "multi" else new, old)
    assert np.array_equal(more.encode(EXAMPLES[kind]), space.encode(EXAMPLES[kind]))
    if kind != "multi":
        assert np.array_equal(more.targets(np.arange(3)), space.targets(np.arange(3)))
    assert space.extend(EXAMPLES[kind]) is space


@pytest.mark.parametrize("kind", CLASSES)
def test_unknown_labels_are_named_with_their_row(kind: str) -> None:
    space = label_space(EXAMPLES[kind])
    with pytest.raises(LabelError, match=r"^test, row 2: label '.*' is not one of the 3 known labels; "):
        space.encode([EXAMPLES[kind][0], NEW[kind][0]], where="test")


def test_the_closest_label_is_suggested() -> None:
    with pytest.raises(LabelError, match="did you mean 'positive'"):
        label_space(["positive", "negative"]).encode(["positiv"])


def test_order_of_classes() -> None:
    assert label_space([10, 9, 100]).classes == (9, 10, 100)
    assert label_space(["10", "9", "100"]).classes == ("10", "100", "9")
    assert label_space([True, False]).classes == (False, True)
    assert label_space(["b", 3, "a"]).classes == (3, "a", "b")
    assert label_space([("b", 1), ("a", "x")]).classes == (("a", "x"), ("b", 1))


def test_numpy_labels_become_plain() -> None:
    space = label_space(list(np.array([2, 1, 2])))
    assert json.dumps(space.to_json()) == '{"kind": "single", "classes": [1, 2]}'
    assert space.encode(np.array([1, 2])).tolist() == [0, 1]


def test_numbers_and_their_spelling_match() -> None:
    assert label_space([0, 1]).encode(["1", "0", 1.0]).tolist() == [1, 0, 1]
    assert label_space(["0", "1"]).encode([1, 0]).tolist() == [1, 0]


def test_tree_targets_obey_the_prefix_rule() -> None:
    space = label_space([("a", "x"), ("a", "y"), ("b", "x")])
    assert isinstance(space, TreeLabels)
    assert space.depth == 2
    assert space.names == ["a/x", "a/y", "b/x"]
    target = space.targets(np.array([0, 1, 2]))
    same = np.cumprod(target[:, None] == target[None, :], axis=2).sum(axis=2) / space.depth
    assert same.tolist() == [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    assert target[0, 1] == target[2, 1]  # equal child names share a code: only the prefix distinguishes them


def test_paths_may_end_on_different_levels() -> None:
    space = label_space([("a",), ("a", "x"), ("a", "x", "1"), ("b",), ("b", "x"), "c"])
    assert isinstance(space, TreeLabels)
    assert (space.shallowest, space.depth) == (1, 3)
    assert space.names == ["a", "a/x", "a/x/1", "b", "b/x", "c"]
    target = space.targets(np.arange(6))
    same = np.cumprod(target[:, None] == target[None, :], axis=2).sum(axis=2)
    assert same.diagonal().tolist() == [3] * 6  # a path that ends early still fully agrees with itself
    assert same[0].tolist() == [3, 1, 1, 0, 0, 0]
    assert same[1].tolist() == [1, 3, 2, 0, 0, 0]
    wider = space.extend([("a", "x", "1", "deep")])
    assert wider.targets(np.array([6]))[0, :3].tolist() == target[2].tolist()


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        (["a", "a"], None, "only one class, 'a'"),
        ([], None, "no labels"),
        ([1, "1"], None, "both written '1'"),
        ([True, 2], None, "mix true/false with numbers"),
        ([("a/b", "c"), ("a", "b/c")], None, "both written 'a/b/c'"),
        ([("a", "b"), ()], None, "a tree label has no levels"),
        ([frozenset(), frozenset()], None, "no row has a label; at least one row needs one"),
        ([("a", "b"), ("a", "c")], "multi", r"are sets of classes, not \('a', 'b'\)"),
        (["a", "b"], "score", "labels, row 1: 'a' is not a score; scores are numbers"),
        ([0.5, 0.5], None, "all scores are the same; there is nothing to learn"),
        (["a", "b"], "ordinal", "unknown kind of labels 'ordinal'; known: multi, score, single, tree"),
    ],
)
def test_invalid_labels_are_refused(labels: list[object], kind: str | None, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        label_space(labels, kind)  # type: ignore[arg-type]


def test_a_damaged_file_is_refused() -> None:
    for data in ({}, {"kind": "single"}, {"kind": "single", "classes": []}, {"kind": "pickle", "classes": [1]}):
        with pytest.raises(LabelError):
            LabelSpace.from_json(data)


@given(st.lists(st.one_of(st.text(), st.integers()), min_size=2, unique_by=str))
def test_any_labels_survive(labels: list[str | int]) -> None:
    space = label_space(labels)
    assert isinstance(space, SingleLabels)
    again = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again.decode(space.encode(labels)) == labels


def test_the_error_names_the_table_with_bad_labels() -> None:
    for labels, reason in {
        ("a", "a"): "there is only one class, 'a'",
        (True, 2): "labels mix true/false with numbers",
        ((True, "a"), (1, "a")): "labels mix true/false with numbers",
        ("1", 1): "two different labels are both written '1'",
    }.items():
        with pytest.raises(LabelError, match=f"^reviews.csv: {reason}"):
            label_space(labels, where="reviews.csv")


@pytest.mark.parametrize("classes", [[None, "a"], [{"a": 1}], [["a", None]], [[]], [1.5, "a"], "abc", []])
def test_damaged_classes_are_refused(classes: object) -> None:
    with pytest.raises(LabelError, match="the file is damaged"):
        LabelSpace.from_json({"kind": "single", "classes": classes})
