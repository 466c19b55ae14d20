from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.batches import ShuffledBatches


def drawn(batches: ShuffledBatches, epoch: int = 0) -> list[np.ndarray]:
    return [draw["rows"] for draw in batches.epoch(epoch)]


@given(rows=st.integers(1, 700), size=st.integers(1, 40), seed=st.integers(0, 5), epoch=st.integers(0, 3))
def test_every_row_once_per_epoch(rows: int, size: int, seed: int, epoch: int) -> None:
    numbers = np.arange(rows) * 3 + 7
    lengths = np.random.default_rng(seed).integers(1, 60, rows)
    batches = ShuffledBatches(numbers, lengths, batch_size=size, seed=seed)
    parts = drawn(batches, epoch)
    assert sorted(np.concatenate(parts).tolist()) == numbers.tolist()
    assert len(parts) == len(batches)
    assert max(map(len, parts)) <= size


def test_an_epoch_depends_on_the_seed_and_its_number_alone() -> None:
    numbers, lengths = np.arange(100), np.random.default_rng(0).integers(1, 60, 100)

    def order(seed: int, epoch: int) -> list[int]:
        return np.concatenate(drawn(ShuffledBatches(numbers, lengths, batch_size=8, seed=seed), epoch)).tolist()

    assert order(0, 1) == order(0, 1)
    assert order(0, 1) != order(0, 2)
    assert order(0, 1) != order(1, 1)


def test_batches_hold_texts_of_similar_length() -> None:
    lengths = np.random.default_rng(0).integers(5, 100, 800)
    batches = ShuffledBatches(np.arange(800), lengths, batch_size=16, seed=0)
    padded = sum(len(rows) * lengths[rows].max() for rows in drawn(batches))
    assert padded < 1.1 * lengths.sum()


def test_long_and_short_batches_are_mixed() -> None:
    lengths = np.arange(400)
    batches = ShuffledBatches(np.arange(400), lengths, batch_size=8, seed=0)
    means = [rows.mean() for rows in drawn(batches)]
    assert means != sorted(means)


def test_a_row_meets_different_rows_in_every_epoch_even_if_all_lengths_differ() -> None:
    lengths = 20 + np.arange(200)
    batches = ShuffledBatches(np.arange(200), lengths, batch_size=8, seed=0)
    company: set[int] = set()
    places: list[int] = []
    for epoch in range(30):
        parts = drawn(batches, epoch)
        places += [number for number, part in enumerate(parts) if 100 in part]
        company |= set(next(part for part in parts if 100 in part).tolist())
    assert len(company) > 16, "not always the same seven"
    assert len(set(places)) > 15, "now early, now late"


def test_the_first_and_the_smaller_batch_have_any_length() -> None:
    lengths = 10 + np.arange(203) % 60
    batches = ShuffledBatches(np.arange(203), lengths, batch_size=8, seed=0)
    first, smaller = [], []
    for epoch in range(40):
        parts = drawn(batches, epoch)
        first.append(lengths[parts[0]].mean())
        smaller.append(next(lengths[part].mean() for part in parts if len(part) < 8))
    for means in (first, smaller):
        assert 30 < np.mean(means) < 50
        assert min(means) < 25
        assert max(means) > 55


def test_every_row_is_early_as_often_as_late() -> None:
    lengths = np.random.default_rng(0).integers(5, 60, 120)
    batches = ShuffledBatches(np.arange(120), lengths, batch_size=8, seed=0)
    when = np.zeros(120)
    for epoch in range(100):
        for number, part in enumerate(drawn(batches, epoch)):
            when[part] += number / 14 / 100
    assert abs(when - 0.5).max() < 0.15, "five standard errors of a uniform place"
