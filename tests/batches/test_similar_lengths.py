"""Class-aware batches of similar length: they keep the contract of batches without lengths, with little padding."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phasefit.data.batches import ClassBatches

SIZES = st.lists(st.sampled_from([1, 1, 2, 3, 5, 6, 40, 300]), min_size=2, max_size=40)


def waste(batches: ClassBatches, lengths: np.ndarray, epochs: int = 2) -> float:
    real = padded = 0
    for epoch in range(epochs):
        for draw in batches.epoch(epoch):
            own = lengths[draw["rows"]]
            real, padded = real + int(own.sum()), padded + len(own) * int(own.max())
    return 1 - real / padded


@settings(deadline=None, max_examples=80)
@given(
    sizes=SIZES,
    batch=st.one_of(st.integers(1, 9), st.sampled_from([32, 500])),
    each=st.integers(2, 12),
    longest=st.sampled_from([0, 1, 30, 10**6]),
    seed=st.integers(0, 2**64),
    epoch=st.integers(0, 10**9),
)
@example(sizes=[10_000] + [1] * 300, batch=32, each=4, longest=50, seed=0, epoch=0)
@example(sizes=[1] * 300, batch=64, each=32, longest=50, seed=0, epoch=0)
@example(sizes=[5000, 1], batch=16, each=8, longest=50, seed=0, epoch=0)
def test_the_contract_of_class_batches(
    sizes: list[int], batch: int, each: int, longest: int, seed: int, epoch: int
) -> None:
    random = np.random.default_rng(0)
    codes = random.permutation(np.repeat(np.arange(len(sizes)) * 7 - 3, sizes))
    lengths = random.integers(0, longest + 1, len(codes))
    first, second = (
        ClassBatches(codes, batch_size=batch, per_class=each, seed=seed, lengths=lengths) for _ in range(2)
    )
    list(zip(first.epoch(epoch + 1), range(3), strict=False))  # started and abandoned
    drawn = list(first.epoch(epoch))
    again = list(second.epoch(epoch))
    assert [draw["rows"].tolist() for draw in drawn] == [draw["rows"].tolist() for draw in again]
    plain = ClassBatches(codes, batch_size=batch, per_class=each, seed=seed)
    assert len(drawn) == len(first) == len(plain)
    counts: Counter[int] = Counter()
    for draw in drawn:
        classes, members = np.unique(codes[draw["rows"]], return_counts=True)
        assert len(classes) >= 2, "unlike texts in every batch"
        assert members.min() >= 2, "alike texts for every text"
        assert len(draw["rows"]) <= first.size + each
        counts.update(draw["rows"].tolist())
    assert set(counts) == set(range(len(codes))), "every row at least once"
    assert sum(counts.values()) <= len(codes) + len(sizes) * each + len(drawn) * each, "and little is repeated"


@pytest.mark.parametrize("kind", ["even", "skewed", "by class", "few long"])
def test_little_is_padding(kind: str) -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 8, 3000)
    lengths = {
        "even": random.integers(5, 100, len(codes)),
        "skewed": random.lognormal(3, 0.6, len(codes)).astype(int) + 3,
        "by class": random.integers(5, 30, len(codes)) + 4 * codes,
        "few long": np.where(random.random(len(codes)) < 0.02, 200, random.integers(8, 16, len(codes))),
    }[kind]
    with_lengths, without = (
        ClassBatches(codes, batch_size=32, per_class=4, seed=0, lengths=known) for known in (lengths, None)
    )
    # A few texts that are many times as long as the others cannot fill whole batches or groups.
    assert waste(with_lengths, lengths) < (0.35 if kind == "few long" else 0.25)
    assert waste(without, lengths) > (0.8 if kind == "few long" else 0.35)


def test_a_rare_class_is_joined_by_texts_of_the_batchs_length() -> None:
    random = np.random.default_rng(0)
    codes = np.repeat([0, 1], [2000, 60])  # most batches would hold one class only
    lengths = random.integers(5, 100, len(codes))
    assert waste(ClassBatches(codes, batch_size=16, per_class=4, seed=0, lengths=lengths), lengths) < 0.3


def test_every_row_meets_every_other_of_its_class_and_rows_of_every_other_class() -> None:
    codes = np.repeat(np.arange(4), 16)
    lengths = np.tile(5 + 2 * np.arange(16), 4)
    batches = ClassBatches(codes, batch_size=16, per_class=4, seed=0, lengths=lengths)
    met = np.zeros((64, 64), dtype=int)
    for epoch in range(800):
        for draw in batches.epoch(epoch):
            met[np.ix_(draw["rows"], draw["rows"])] += 1
    assert met.min() > 0, "the shortest of each class met the longest of all"
    near, far = (np.mean([met[row, row + apart] for row in range(16 - apart)]) for apart in (2, 10))
    assert near > 2 * far, "those of similar length more often"


def test_every_epoch_has_different_groups() -> None:
    codes = np.repeat(np.arange(5), 16)
    lengths = np.tile(5 + 2 * np.arange(16), 5)
    batches = ClassBatches(codes, batch_size=16, per_class=4, seed=0, lengths=lengths)
    groups: list[set[frozenset[int]]] = []
    for epoch in range(4):
        rows = [draw["rows"].reshape(-1, 4) for draw in batches.epoch(epoch)]
        groups.append({frozenset(group) for group in np.concatenate(rows).tolist()})
    for left, right in pairwise(groups):
        assert len(left & right) < len(left) / 2


def test_no_group_holds_a_text_twice_if_its_class_has_enough() -> None:
    codes = np.repeat(np.arange(6), [5, 6, 7, 9, 10, 11])
    lengths = np.random.default_rng(0).integers(5, 50, len(codes))
    batches = ClassBatches(codes, batch_size=8, per_class=4, seed=0, lengths=lengths)
    seen = Counter(
        len(set(group))
        for epoch in range(20)
        for draw in batches.epoch(epoch)
        for group in draw["rows"].reshape(-1, 4).tolist()
    )
    assert seen[4] > 0.95 * sum(seen.values()), "only groups that take no heed of lengths may"


def test_batches_have_the_class_distribution_of_a_large_table() -> None:
    random = np.random.default_rng(0)
    codes = np.repeat([0, 1], [6000, 2000])
    lengths = random.integers(5, 100, len(codes))
    batches = ClassBatches(codes, batch_size=32, per_class=4, seed=0, lengths=lengths)
    shares = np.array([(codes[draw["rows"]] == 0).mean() for draw in batches.epoch(0)])
    assert (shares < 1).all()
    assert np.mean((shares > 0.45) & (shares < 0.95)) > 0.95


def test_long_and_short_batches_are_mixed() -> None:
    codes, lengths = np.arange(800) % 4, 5 + np.arange(800) // 8
    batches = ClassBatches(codes, batch_size=16, per_class=4, seed=0, lengths=lengths)
    means = np.array([lengths[draw["rows"]].mean() for draw in batches.epoch(0)])
    half = len(means) // 2
    assert abs(means[:half].mean() - means[half:].mean()) < 30
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.5
