from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.batches import ClassBatches

many_codes = st.lists(st.integers(0, 9), min_size=2, max_size=150).filter(lambda codes: len(set(codes)) > 1)


@given(codes=many_codes, size=st.integers(2, 40), each=st.integers(2, 12), seed=st.integers(0, 3))
def test_batches_have_several_texts_per_class_and_two_classes(
    codes: list[int], size: int, each: int, seed: int
) -> None:
    given_codes = np.array(codes)
    batches = ClassBatches(given_codes, batch_size=size, per_class=each, seed=seed)
    seen: list[int] = []
    parts = list(batches.epoch(seed))
    assert len(parts) == len(batches)
    for draw in parts:
        classes, counts = np.unique(given_codes[draw["rows"]], return_counts=True)
        assert len(classes) >= 2, "unlike texts in every batch"
        assert counts.min() >= 2, "alike texts for every text"
        seen += draw["rows"].tolist()
    assert set(seen) == set(range(len(codes))), "every row at least once"


@given(codes=many_codes, seed=st.integers(0, 3), epoch=st.integers(0, 3))
def test_an_epoch_depends_on_the_seed_and_its_number_alone(codes: list[int], seed: int, epoch: int) -> None:
    first, second = (ClassBatches(np.array(codes), batch_size=8, per_class=4, seed=seed) for _ in range(2))
    list(first.epoch(epoch + 1))
    for left, right in zip(first.epoch(epoch), second.epoch(epoch), strict=True):
        assert left["rows"].tolist() == right["rows"].tolist()


def test_epochs_and_seeds_draw_different_batches() -> None:
    codes = np.repeat(np.arange(5), 30)

    def order(seed: int, epoch: int) -> list[int]:
        batches = ClassBatches(codes, batch_size=16, per_class=4, seed=seed)
        return np.concatenate([draw["rows"] for draw in batches.epoch(epoch)]).tolist()

    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


def test_few_rows_are_repeated() -> None:
    codes = np.repeat(np.arange(10), [200, 150, 100, 80, 60, 40, 20, 10, 5, 3])
    batches = ClassBatches(codes, batch_size=32, per_class=4, seed=0)
    total = sum(len(draw["rows"]) for draw in batches.epoch(0))
    assert total <= len(codes) + 10 * 3 + 4


def test_a_batch_has_the_class_distribution_of_the_table() -> None:
    codes = np.repeat([0, 1], [300, 100])
    batches = ClassBatches(codes, batch_size=32, per_class=4, seed=0)
    shares = [(codes[draw["rows"]] == 0).mean() for draw in batches.epoch(0)]
    assert min(shares[:-1]) > 0.5
    assert max(shares[:-1]) < 1.0


def test_a_thousand_lone_classes_keep_the_memory_small() -> None:
    batches = ClassBatches(np.arange(1000), batch_size=32, per_class=4, seed=0)
    assert sum(len(draw["rows"]) for draw in batches.epoch(0)) == 4000


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match="two classes"):
        ClassBatches(np.zeros(10, dtype=int), batch_size=4, per_class=2, seed=0)


@given(codes=many_codes, named=st.lists(st.integers(0, 12), max_size=20), seed=st.integers(0, 3))
def test_every_class_of_a_batch_has_its_name(codes: list[int], named: list[int], seed: int) -> None:
    given_codes, names = np.array(codes), np.array(named, dtype=np.int64)
    every = np.concatenate([given_codes, names])
    plain = ClassBatches(given_codes, batch_size=8, per_class=4, seed=seed)
    batches = ClassBatches(given_codes, batch_size=8, per_class=4, seed=seed, named=names)
    assert len(batches) == len(plain)
    seen: set[int] = set()
    for draw in batches.epoch(0):
        rows = draw["rows"]
        texts, stand = rows[rows < len(codes)], rows[rows >= len(codes)]
        assert sorted(every[stand].tolist()) == sorted(set(every[texts].tolist()) & set(named)), "one for each class"
        seen |= set(texts.tolist())
    assert seen == set(range(len(codes)))


def test_all_names_of_a_class_are_used() -> None:
    batches = ClassBatches(np.repeat([3, 5], 100), batch_size=8, per_class=4, seed=0, named=np.array([5, 3, 5, 5]))
    seen = np.concatenate([draw["rows"] for draw in batches.epoch(0)])
    assert set(seen.tolist()) == set(range(204))
