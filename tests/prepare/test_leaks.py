"""Texts that are both trained on and scored: kept, or dropped on one side; our own splits have none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.data.equal_texts import normal_form, same_text_hashes, text_hashes
from phasefit.data.labels import label_space
from phasefit.errors import DataError, LabelError
from phasefit.prepare.base import Base
from phasefit.prepare.prepare import Prepared
from specs import prepare, run_spec
from tiny import make_table

TEXTS = [f"text {row}" for row in range(40)]
LABELS = ["a" if row % 2 else "b" for row in range(40)]
LEAKY = (["TEXT  3", "text 4", "fresh", "text 5 "], ["a", "b", "a", "b"])


def prepared(data: Any = (TEXTS, LABELS), **options: Any) -> Prepared:
    return prepare(run_spec(data, **options))


def normal(table: Any) -> set[str]:
    return set() if table is None else {normal_form(text) for text in table.texts}


def test_kept_rows_are_counted() -> None:
    parts = prepared(test=LEAKY, validation_size=0)
    assert (len(parts.train), len(parts.test)) == (40, 4)
    assert parts.hygiene.leaked("test") == 3
    expected = (
        "3 of the 4 test texts are also training texts, 1 of them with a different label; drop them with --leaked "
        "drop-scored or"
    )
    assert any(note.startswith(expected) for note in parts.notes)


def test_drop_scored_leaves_the_training_rows() -> None:
    parts = prepared(test=LEAKY, validation_size=0, leaked="drop-scored")
    assert parts.test.texts == ["fresh"]
    assert len(parts.train) == 40
    assert "dropped 3 of the 4 test rows: their texts are also training texts" in parts.notes
    assert not any("--leaked" in note for note in parts.notes)


def test_drop_train_leaves_the_scored_rows() -> None:
    parts = prepared(test=LEAKY, validation_size=0, leaked="drop-train")
    assert len(parts.test) == 4
    assert len(parts.train) == 37
    assert "dropped 3 of the 40 training rows: their texts are also validation or test texts" in parts.notes


def test_nothing_to_drop_gets_no_note() -> None:
    for leaked in ("drop-scored", "drop-train"):
        parts = prepared(leaked=leaked)
        assert len(parts.train) + len(parts.validation) + len(parts.test) == 40
        assert not any("dropped" in note for note in parts.notes)


def test_dropping_everything_is_refused() -> None:
    with pytest.raises(DataError, match=r"all 2 test texts are also training texts.*use --leaked drop-train"):
        prepared(test=(TEXTS[:2], LABELS[:2]), leaked="drop-scored", validation_size=0)
    with pytest.raises(DataError, match=r"all 40 training texts are also validation or test.*use --leaked keep"):
        prepared(test=(TEXTS, LABELS), leaked="drop-train", validation_size=0)
    with pytest.raises(DataError, match="--leaked drop: unknown choice; known: drop-scored"):
        prepared(leaked="drop")


def test_a_class_that_drop_train_removes() -> None:
    data = ([*TEXTS, "rare one"], [*LABELS, "rare"])
    options: dict[str, Any] = {
        "test": (["rare one", "fresh"], ["rare", "a"]),
        "validation_size": 0,
        "leaked": "drop-train",
    }
    with pytest.raises(LabelError, match=r"1 class has no training rows left .* 'rare'; use --leaked drop-scored"):
        prepared(data, **options)
    parts = prepared(data, unseen="drop", **options)
    assert parts.test.texts == ["fresh"]
    assert parts.space.names == ["a", "b"]
    assert any("1 class has no training rows left" in note for note in parts.notes)
    only = (["x y", "z w"], ["a", "b"])
    with pytest.raises(LabelError, match="only one class"):
        prepared(only, test=(["x y"], ["a"]), validation_size=0, leaked="drop-train", unseen="keep")


ROWS = st.lists(st.tuples(st.sampled_from([*TEXTS[:12], "TEXT 1", "text  2"]), st.sampled_from("ab")), max_size=12)


@settings(deadline=None, max_examples=80)
@given(ROWS, ROWS, st.sampled_from(["drop-scored", "drop-train"]), st.sampled_from(["given", "split"]))
def test_dropping_leaves_no_overlap(train: list, test: list, leaked: str, how: str) -> None:
    train = [*train, *((f"only trained {row}", "ab"[row % 2]) for row in range(12))]
    test = [*test, ("only tested", "a")]
    options: dict[str, Any] = {"validation_size": 0.0 if how == "given" else 0.2}
    parts = prepared(tuple(map(list, zip(*train, strict=True))), test=tuple(map(list, zip(*test, strict=True))),
                     leaked=leaked, **options)  # fmt: skip
    assert not normal(parts.train) & (normal(parts.validation) | normal(parts.test))
    assert {overlap.rows for overlap in parts.hygiene.overlaps if overlap.other == "train"} <= {0}
    scored = (
        len(test) if leaked == "drop-train" else sum(normal_form(text) not in normal(parts.train) for text, _ in test)
    )
    assert len(parts.test) == scored


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(0, 5))
def test_our_own_splits_never_leak(rows: list[tuple[str, str]], seed: int) -> None:
    rows = [*rows, *((text, label) for text, label in zip(TEXTS, LABELS, strict=True)), *rows]
    parts = prepared(tuple(map(list, zip(*rows, strict=True))), seed=seed)
    sides = [normal(part) for part in (parts.train, parts.validation, parts.test)]
    assert sum(map(len, sides)) == len(set.union(*sides))
    assert all(overlap.rows == 0 for overlap in parts.hygiene.overlaps)
    assert sum(len(part) for part in (parts.train, parts.validation, parts.test)) == len(rows)


def test_unlabelled_copies_of_scored_texts_are_dropped() -> None:
    texts, labels = make_table(40)
    parts = prepared((texts, labels), unlabelled=[text.upper() for text in texts])
    assert not normal(parts.unlabelled) & (normal(parts.validation) | normal(parts.test))
    assert parts.unlabelled is not None


@pytest.mark.parametrize("spelled", ["{}", "  {} "], ids=["unchanged", "in other cases and spaces"])
def test_texts_that_the_base_run_was_trained_on(spelled: str) -> None:
    trained = [spelled.format(text if spelled == "{}" else text.upper()) for text in TEXTS[:30]]
    base = Base("before", label_space(LABELS), same_text_hashes(trained))
    parts = prepare(run_spec((TEXTS, LABELS)), base)
    assert not normal(parts.test) & set(TEXTS[:30])
    test = (["text 1", "text 35", "new"], ["a", "a", "b"])
    fresh = ([f"new text {row}" for row in range(20)], LABELS[:20])
    again = prepare(run_spec(fresh, test=test, leaked="drop-scored"), base)
    assert again.test.texts == ["text 35", "new"]
    notes = prepare(run_spec(fresh, test=test), base).notes
    assert "1 of the 3 texts in 'test' were used to train before" in notes


def test_copies_in_other_cases_are_known_to_the_base_run() -> None:
    base = Base("before", label_space(LABELS), same_text_hashes(["Text 1"]))
    table = prepared(test=(["TEXT   1", "text 2", "Text 1"], ["a", "b", "a"]), validation_size=0).test
    assert base.knows(table).tolist() == [True, False, True]
    foreign = Base("before", label_space(LABELS), text_hashes(["Text 1"]))
    assert not foreign.knows(table).any(), "hashes are those of the normal form"
