"""Hashes of texts: equal for equal texts, independent of chunks, compared like sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.data import equal_texts
from phasefit.data.equal_texts import are_among, normal_form, same_text_hashes, text_hashes
from phasefit.data.table import Table

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=20)


def test_the_hash_is_blake2b_of_the_utf8_bytes() -> None:
    import hashlib

    expected = int.from_bytes(hashlib.blake2b("é".encode(), digest_size=8).digest(), "little", signed=True)
    assert text_hashes(["é"]).tolist() == [expected]
    assert text_hashes([]).dtype == np.int64


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Play  it", "play it"),
        (" play it\n", "play it"),
        ("STRASSE", "straße"),
        ("a\u00a0b", "A b"),
        ("\tx", "X"),
        ("cafe\u0301", "CAFÉ"),
    ],
)
def test_case_and_white_space_do_not_count(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)
    assert len(set(same_text_hashes([one, other]).tolist())) == 1
    assert len(set(text_hashes([one, other]).tolist())) == 2


@given(TEXTS)
def test_equal_hashes_are_equal_texts(texts: list[str]) -> None:
    hashes = text_hashes(texts).tolist()
    assert len(set(hashes)) == len(set(texts))
    assert [texts.index(text) for text in texts] == [hashes.index(number) for number in hashes]


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text {row}" for row in range(10)]
    whole = text_hashes(iter(texts))
    monkeypatch.setattr(equal_texts, "CHUNK", 3)
    assert np.array_equal(text_hashes(texts), whole)


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5)), st.lists(st.integers(-5, 5)))
def test_are_among_is_membership(some: list[int], known: list[int]) -> None:
    mask = are_among(np.array(some, dtype=np.int64), np.array(known, dtype=np.int64))
    assert mask.tolist() == [number in known for number in some]


def test_taken_rows_know_their_numbers_and_their_hashes() -> None:
    table = Table("t", ["a", "b", "A ", "c"], [1, 2, 3, 4])
    assert table.row_numbers(np.array([0, 3])).tolist() == [1, 4]
    hashed = table.same
    taken = table.take(np.array([3, 2])).take(np.array([1]))
    assert taken.texts == ["A "]
    assert taken.row_numbers(np.array([0])).tolist() == [3]
    assert taken.same.tolist() == hashed[[0]].tolist()
    assert Table("t", ["a", "b"]).take(np.array([1])).same.tolist() == hashed[[1]].tolist()
    assert Table("t", ["a"]) == Table("t", ["x", "a"]).take(np.array([1]))
