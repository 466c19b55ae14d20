from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.errors import MissingExtra
from phasefit.models import neighbours
from phasefit.models.neighbours import NONE, nearest_others, need_index


def by_hand(vectors: np.ndarray, codes: np.ndarray, count: int) -> np.ndarray:
    """A plain sort for each text."""
    z = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    result = np.full((len(z), count), NONE)
    for row in range(len(z)):
        others = [other for other in range(len(z)) if codes[other] != codes[row]]
        nearest = sorted(others, key=lambda other: (-float(z[row] @ z[other]), other))[:count]
        result[row, : len(nearest)] = nearest
    return result


@given(codes=st.lists(st.integers(0, 4), min_size=1, max_size=40), count=st.integers(1, 12), seed=st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_exact_search_equals_a_plain_sort(codes: list[int], count: int, seed: int) -> None:
    # Vectors of length 1 with exact products: equal distances are equal to the last bit.
    random = np.random.default_rng(seed)
    vectors = np.zeros((len(codes), 4), dtype=np.float32)
    vectors[np.arange(len(codes)), random.integers(0, 4, len(codes))] = random.choice([-1, 1], len(codes))
    result = nearest_others(torch.from_numpy(vectors), np.array(codes), count)
    assert result.tolist() == by_hand(vectors, np.array(codes), count).tolist()


def test_more_vectors_than_a_block(monkeypatch) -> None:
    random = np.random.default_rng(0)
    vectors, codes = random.normal(size=(300, 16)).astype(np.float32), random.integers(0, 5, 300)
    result = nearest_others(torch.from_numpy(vectors), codes, 7)
    assert (result == by_hand(vectors, codes, 7)).mean() > 0.999, "up to rounding"
    monkeypatch.setattr(neighbours, "BLOCK", 7)
    assert (result == nearest_others(torch.from_numpy(vectors), codes, 7)).all()


def test_one_class_has_no_neighbours() -> None:
    result = nearest_others(torch.eye(5), np.zeros(5, dtype=np.int64), 3)
    assert result.shape == (5, 3)
    assert (result == NONE).all()


@pytest.mark.parametrize(("classes", "apart", "candidates"), [(4, 0.0, 8192), (4, 3.0, 1500), (100, 1.0, 1500)])
def test_the_index_finds_nearly_all_exact_neighbours(classes: int, apart: float, candidates: int) -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, classes, 3000)
    middles = apart * random.normal(size=(classes, 24))
    vectors = torch.from_numpy((random.normal(size=(3000, 24)) + middles[codes]).astype(np.float32))
    exact = nearest_others(vectors, codes, 8)
    indexed = nearest_others(vectors, codes, 8, exact_up_to=0, cell=32, candidates=candidates)
    assert (indexed == nearest_others(vectors, codes, 8, exact_up_to=0, cell=32, candidates=candidates)).all()
    assert (indexed != NONE).all()
    assert (codes[indexed] != codes[:, None]).all()
    recall = np.mean([len(np.intersect1d(left, right)) / 8 for left, right in zip(exact, indexed, strict=True)])
    assert recall >= 0.95


def test_the_index_pads_rows_with_too_few_neighbours() -> None:
    codes = np.array([0] * 6 + [1] * 2)
    vectors = torch.from_numpy(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32))
    result = nearest_others(vectors, codes, 4, exact_up_to=0)
    assert result.tolist() == nearest_others(vectors, codes, 4).tolist()
    assert (result[:6, 2:] == NONE).all()


def test_large_tables_need_the_library(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)  # as if it were not installed
    need_index(20_000, "contrast")
    with pytest.raises(MissingExtra, match=r"contrast: hard negatives for 20,001 texts.*phasefit\[index\].*20,000"):
        need_index(20_001, "contrast")
