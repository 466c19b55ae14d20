"""Texts in a temporary file behave like a list; labels as numbers too."""

from __future__ import annotations

import errno
import tempfile
from typing import Any

import numpy as np
import pytest

from phasefit.data import stored_texts
from phasefit.data.checks import is_missing
from phasefit.data.coded_labels import CodedLabels, LabelCoder, distinct
from phasefit.data.labels import label_space
from phasefit.data.stored_texts import ChosenTexts, JoinedTexts, StoredTexts, TextWriter, join_texts
from phasefit.data.table import Table, content_hash
from phasefit.errors import DataError, LabelError

TEXTS = ["one", "naïve ☃", "a\nb", "", "🙂 four", "x" * 5000, "end"]


def stored(texts: list[str], at_once: int = 2) -> StoredTexts:
    writer = TextWriter()
    for start in range(0, len(texts), at_once):
        writer.append(texts[start : start + at_once])
    return writer.finish()


@pytest.mark.parametrize(("near", "at_once"), [(1 << 16, 8192), (0, 8192), (1 << 16, 2)])
def test_stored_texts_are_read_like_a_list(monkeypatch: pytest.MonkeyPatch, near: int, at_once: int) -> None:
    monkeypatch.setattr(stored_texts, "NEAR", near)
    monkeypatch.setattr(stored_texts, "AT_ONCE", at_once)
    texts = stored(TEXTS)
    assert list(texts) == TEXTS
    assert len(texts) == len(TEXTS)
    assert [texts[row] for row in range(-len(TEXTS), len(TEXTS))] == TEXTS + TEXTS
    assert texts[np.int64(4)] == "🙂 four"
    for part in (slice(None), slice(2, 5), slice(5, 2, -1), slice(0, 99, 3), slice(4, 4)):
        assert texts[part] == TEXTS[part]
    taken = texts.take(np.array([6, 0, 4, 4]))
    assert list(taken) == ["end", "one", "🙂 four", "🙂 four"]
    assert list(taken.take(np.array([2, 0]))) == ["🙂 four", "end"]
    assert list(texts.take(np.arange(0))) == []
    with pytest.raises(IndexError):
        texts[len(TEXTS)]


def test_joined_texts_are_read_like_one_list() -> None:
    whole = [*TEXTS, "in", "memory", *TEXTS[:3]]
    texts = join_texts([stored(TEXTS), ["in", "memory"], [], stored(TEXTS).take(np.arange(3))])
    assert isinstance(texts, JoinedTexts)
    assert list(texts) == whole
    assert [texts[row] for row in range(-len(whole), len(whole))] == whole + whole
    for start in range(len(whole)):
        for stop in range(len(whole) + 2):
            assert texts[start:stop] == whole[start:stop]
    assert texts[::-2] == whole[::-2]
    with pytest.raises(IndexError):
        texts[len(whole)]


def test_chosen_texts_are_read_like_a_list() -> None:
    texts = ChosenTexts(stored(TEXTS), np.array([6, 0, 4]))
    assert list(texts) == ["end", "one", "🙂 four"]
    assert (texts[-1], texts[:2], len(texts)) == ("🙂 four", ["end", "one"], 3)


def test_lists_are_joined_as_a_list() -> None:
    assert join_texts([["a"], ["b", "c"]]) == ["a", "b", "c"]


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, content: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            pass

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: Full())
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        TextWriter().append(["a"])


def test_labels_as_numbers_are_read_like_a_list() -> None:
    labels = CodedLabels(["b", "a", "unused"], np.array([0, 1, 1, 0], dtype=np.int32))
    assert list(labels) == ["b", "a", "a", "b"]
    assert labels[1:3] == ["a", "a"]
    assert (labels[0], labels[-1], len(labels)) == ("b", "b", 4)
    assert list(labels.take(np.array([3, 1]))) == ["b", "a"]
    assert list(distinct(labels)) == ["b", "a"]
    space = label_space(labels)
    assert space.names == ["a", "b"]
    assert space.encode(labels).tolist() == space.encode(list(labels)).tolist() == [1, 0, 0, 1]
    with pytest.raises(LabelError, match="row 2: label 'a' is not one of the 2 known labels"):
        label_space(["b", "c"]).encode(labels)


def test_equal_tables_have_equal_hashes_however_they_are_kept() -> None:
    names = ["b", "a", "a", "b", "a", "a", "b"]
    whole = Table("t", TEXTS, names)
    kept = Table("t", stored(TEXTS), CodedLabels(["b", "a"], np.array([0, 1, 1, 0, 1, 1, 0], dtype=np.int32)))
    assert content_hash([kept]) == content_hash([whole])
    rows = np.array([5, 1, 2])
    assert content_hash([kept.take(rows)]) == content_hash([whole.take(rows)])
    assert kept.same.tolist() == whole.same.tolist()


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (["a", "b", "a"], [0, 1, 0]),
        ([1, True, 1.0, 1], [0, 1, 2, 0]),
        ([None, float("nan"), float("nan"), "", " ", "a"], [0, 0, 0, 0, 0, 1]),
        ([["a"], ["a", "b"], ["a"], np.array(["a", "b"]), []], [0, 1, 0, 2, 3]),
        ([("a", 1), ("a", True), ("a", None), ("a", float("nan")), (None, None)], [0, 1, 2, 2, 3]),
        ([{"a": 1}, {"a": 1}, [["a"]], [["a"]]], [0, 0, 1, 1]),
    ],
)
def test_labels_of_one_type_and_value_share_a_number(labels: list[Any], codes: list[int]) -> None:
    coder = LabelCoder(is_missing)
    coder.append(labels[:2], np.arange(2))
    coder.append(labels[2:], np.arange(2, len(labels)))
    assert coder.finish().tolist() == codes
    assert coder.first.tolist() == [codes.index(code) for code in range(max(codes) + 1)]
