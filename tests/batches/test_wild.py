"""Every stream of batches with arbitrary class sizes, lengths and batch sizes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phasefit.data.batches import Batches, ClassBatches, Draw, PairBatches, ShuffledBatches, ZippedBatches, draw_pairs

SIZES = st.lists(st.sampled_from([1, 1, 1, 2, 3, 5, 40, 700]), min_size=2, max_size=60)
BATCH = st.one_of(st.integers(1, 9), st.sampled_from([32, 500, 10_000]))
SEED = st.integers(0, 2**64)
ONE_AND_MANY = [10_000] + [1] * 300


def codes_of(sizes: list[int], seed: int) -> np.ndarray:
    """Class codes with gaps, shuffled."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 7 - 3, sizes))


def same_again(first: Batches, second: Batches, epoch: int) -> list[Draw]:
    """The batches of an epoch, which depend only on the seed and its number, not on earlier draws."""
    for _ in zip(first.epoch(epoch + 1), range(3), strict=False):  # started and abandoned
        pass
    drawn = list(first.epoch(epoch))
    for left, right in zip(drawn, second.epoch(epoch), strict=True):
        assert left.keys() == right.keys()
        assert all(np.array_equal(left[key], right[key]) for key in left)
    assert len(drawn) == len(first)
    return drawn


@settings(deadline=None, max_examples=100)
@given(sizes=SIZES, batch=BATCH, each=st.integers(2, 40), seed=SEED, epoch=st.integers(0, 10**9))
@example(sizes=ONE_AND_MANY, batch=32, each=4, seed=0, epoch=0)
@example(sizes=ONE_AND_MANY, batch=1, each=2, seed=0, epoch=1)
@example(sizes=[1] * 300, batch=64, each=32, seed=0, epoch=0)
@example(sizes=[10_000, 1], batch=16, each=8, seed=0, epoch=0)
def test_class_batches(sizes: list[int], batch: int, each: int, seed: int, epoch: int) -> None:
    codes = codes_of(sizes, 0)
    first, second = (ClassBatches(codes, batch_size=batch, per_class=each, seed=seed) for _ in range(2))
    drawn = same_again(first, second, epoch)
    counts: Counter[int] = Counter()
    for draw in drawn:
        classes, members = np.unique(codes[draw["rows"]], return_counts=True)
        assert len(classes) >= 2, "unlike texts in every batch"
        assert members.min() >= 2, "alike texts for every text"
        assert len(draw["rows"]) <= first.size + each
        counts.update(draw["rows"].tolist())
    assert set(counts) == set(range(len(codes))), "every row at least once"
    assert sum(counts.values()) <= len(codes) + len(sizes) * each + len(drawn) * each, "and little is repeated"


@settings(deadline=None, max_examples=100)
@given(lengths=st.lists(st.integers(0, 10**6), max_size=400), batch=BATCH, seed=SEED, epoch=st.integers(0, 10**9))
@example(lengths=[], batch=3, seed=0, epoch=0)
def test_shuffled_batches(lengths: list[int], batch: int, seed: int, epoch: int) -> None:
    rows = np.arange(len(lengths)) * 3 + 5
    first, second = (ShuffledBatches(rows, np.array(lengths), batch_size=batch, seed=seed) for _ in range(2))
    drawn = [draw["rows"] for draw in same_again(first, second, epoch)]
    assert sorted(row for part in drawn for row in part.tolist()) == rows.tolist(), "every row exactly once"
    assert all(0 < len(part) <= batch for part in drawn)


@settings(deadline=None, max_examples=60)
@given(sizes=SIZES, batch=BATCH, times=st.integers(1, 4), seed=SEED)
@example(sizes=ONE_AND_MANY, batch=32, times=2, seed=0)
@example(sizes=[1, 1], batch=1, times=1, seed=0)
def test_explicit_pairs(sizes: list[int], batch: int, times: int, seed: int) -> None:
    codes = codes_of(sizes, 1)
    places = np.arange(len(codes))
    pairs, agree = draw_pairs(codes, places, times=times, seed=seed)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs) <= times * len(codes)
    assert np.array_equal(agree, codes[pairs[:, 0]] == codes[pairs[:, 1]])
    assert len(set(Counter(agree.tolist()).values())) <= 1, "as many alike as unlike, where there are both"
    first, second = (PairBatches(pairs, places % 50, batch_size=batch, seed=seed) for _ in range(2))
    drawn = [draw["pairs"] for draw in same_again(first, second, 3)]
    drawn_pairs = np.concatenate([np.empty((0, 2), dtype=int), *drawn])
    assert np.array_equal(drawn_pairs[np.lexsort(drawn_pairs.T)], pairs[np.lexsort(pairs.T)]), "every pair exactly once"


@settings(deadline=None, max_examples=100)
@given(
    rows=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    batch=st.integers(1, 20),
    alternate=st.booleans(),
    seed=SEED,
    epoch=st.integers(0, 50),
)
def test_zipped_batches(rows: list[int], batch: int, alternate: bool, seed: int, epoch: int) -> None:
    def streams() -> dict[str, Batches]:
        return {
            f"s{which}": ShuffledBatches(np.arange(many), np.ones(many), batch_size=batch, seed=seed)
            for which, many in enumerate(rows)
        }

    drawn = same_again(*(ZippedBatches(streams(), alternate=alternate) for _ in range(2)), epoch)
    names = [f"s{which}.rows" for which in range(len(rows))]
    for number, draw in enumerate(drawn):
        assert list(draw) == ([names[number % len(names)]] if alternate else names)
    longest = rows.index(max(rows))
    seen = np.concatenate([draw[names[longest]] for draw in drawn if names[longest] in draw])
    assert sorted(seen.tolist()) == list(range(rows[longest])), "an epoch is one of the longest stream"
    for name, many in zip(names, rows, strict=True):  # over the epochs no stream skips or repeats a batch
        whole = [draw[name] for draw in drawn if name in draw]
        per_epoch = -(-many // batch)
        start = epoch * len(whole)
        cuts = [0, *(place for place in range(1, len(whole)) if (start + place) % per_epoch == 0), len(whole)]
        for begin, end in pairwise(cuts):
            part = np.concatenate([np.empty(0, dtype=int), *whole[begin:end]])
            assert len(set(part.tolist())) == len(part)


def test_a_stream_without_batches_is_refused() -> None:
    empty = ShuffledBatches(np.arange(0), np.arange(0), batch_size=2, seed=0)
    full = ShuffledBatches(np.arange(4), np.ones(4), batch_size=2, seed=0)
    with pytest.raises(ValueError, match="without batches"):
        ZippedBatches({"empty": empty, "full": full})


def test_many_classes_are_grouped_by_one_sort() -> None:
    codes = np.arange(20_000) // 2
    batches = ClassBatches(codes, batch_size=32, per_class=2, seed=0)
    assert sum(len(draw["rows"]) for draw in batches.epoch(0)) == len(codes)
