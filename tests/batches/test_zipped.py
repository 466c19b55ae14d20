from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phasefit.data.batches import ShuffledBatches, ZippedBatches


def stream(rows: int, size: int = 4, seed: int = 0) -> ShuffledBatches:
    return ShuffledBatches(np.arange(rows), np.ones(rows, dtype=int), batch_size=size, seed=seed)


@given(first=st.integers(1, 60), second=st.integers(1, 60), epoch=st.integers(0, 4))
def test_side_by_side(first: int, second: int, epoch: int) -> None:
    both = ZippedBatches({"a": stream(first), "b": stream(second)})
    draws = list(both.epoch(epoch))
    assert len(draws) == len(both) == max(len(stream(first)), len(stream(second)))
    assert all(set(draw) == {"a.rows", "b.rows"} for draw in draws)
    longer, rows = ("a", first) if len(stream(first)) >= len(stream(second)) else ("b", second)
    seen = np.concatenate([draw[f"{longer}.rows"] for draw in draws])
    assert sorted(seen.tolist()) == list(range(rows)), "an epoch is one of the longest stream"


@given(first=st.integers(1, 60), second=st.integers(1, 60))
def test_in_turn(first: int, second: int) -> None:
    both = ZippedBatches({"a": stream(first), "b": stream(second)}, alternate=True)
    draws = list(both.epoch(0))
    assert len(draws) == len(both)
    assert [next(iter(draw)) for draw in draws] == ["a.rows", "b.rows"] * (len(draws) // 2)


def test_the_shorter_stream_continues_where_it_stopped() -> None:
    short = stream(12)
    both = ZippedBatches({"long": stream(20), "short": short})
    drawn = [draw["short.rows"].tolist() for epoch in range(3) for draw in both.epoch(epoch)]
    alone = [draw["rows"].tolist() for epoch in range(5) for draw in short.epoch(epoch)]
    assert drawn == alone
