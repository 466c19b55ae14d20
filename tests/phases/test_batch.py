"""The part of a batch that one of several processes trains; the exchange itself is in training/test_processes.py."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from phasefit.phases.batch import Batch, selected

CPU = torch.device("cpu")


def parts(rows: int, processes: int) -> list[Batch]:
    whole = {"rows": 100 + np.arange(rows), "task": np.arange(rows) % 3}
    return [Batch.part(whole, np.random.default_rng(0), CPU, rank, processes) for rank in range(processes)]


@given(rows=st.integers(1, 40), processes=st.integers(1, 9))
def test_every_row_belongs_to_one_process_and_every_process_has_a_row(rows: int, processes: int) -> None:
    batches = parts(rows, processes)
    assert [len(batch.draw["rows"]) for batch in batches] == [max(size, 1) for size in batches[0].sizes]
    owned = [batch.draw["rows"][:size] for batch, size in zip(batches, batches[0].sizes, strict=True)]
    assert np.concatenate(owned).tolist() == (100 + np.arange(rows)).tolist()
    for batch in batches:
        assert batch.whole["rows"][batch.place].tolist() == batch.draw["rows"].tolist()
        assert max(batch.sizes) - min(batch.sizes) <= 1


@given(rows=st.integers(1, 40), processes=st.integers(1, 9))
def test_scaled_means_of_the_processes_average_to_the_mean_of_all(rows: int, processes: int) -> None:
    batches, values = parts(rows, processes), np.arange(rows) ** 2.0
    means = [values[batch.place].mean() * batch.scale(len(batch.draw["rows"]), rows) for batch in batches]
    assert np.mean(means) == pytest.approx(values.mean())


def test_one_process_has_the_whole_batch() -> None:
    batch = Batch({"rows": np.arange(5)}, np.random.default_rng(0), CPU)
    assert (batch.whole, batch.sizes, batch.place) == (batch.draw, [5], slice(0, 5))
    assert batch.scale(2, 5) == 1.0
    tensor = torch.arange(5)
    assert batch.gather(tensor) is tensor


def test_rows_of_every_process_are_in_the_order_of_gather() -> None:
    batch = parts(5, 2)[0]
    assert batch.every().tolist() == [100, 101, 102, 103, 104]
    assert batch.every(copies=2).tolist() == [100, 101, 100, 101, 102, 103, 104, 102, 103, 104]


def test_noise_of_a_part_is_that_of_the_whole() -> None:
    def noisy(rows: np.ndarray, random: np.random.Generator) -> dict[str, torch.Tensor]:
        lengths = random.integers(1, 9, len(rows))
        mask = torch.from_numpy((np.arange(9) < lengths[:, None]).astype(np.int64))
        return {"input_ids": mask * torch.from_numpy(rows)[:, None], "attention_mask": mask}

    (alone,) = parts(7, 1)
    whole = alone.own_features(lambda rows: noisy(rows, alone.generator))
    for batch in parts(7, 3):
        part = batch.own_features(lambda rows, batch=batch: noisy(rows, batch.generator))
        width = part["input_ids"].shape[1]
        assert torch.equal(part["input_ids"], whole["input_ids"][batch.place, :width])
        assert width == part["attention_mask"].sum(dim=1).max(), "no padding for the rows of others"


def test_selected_features_of_no_tokens_keep_a_column() -> None:
    features = {"input_ids": torch.zeros(2, 4), "attention_mask": torch.zeros(2, 4)}
    assert selected(features, slice(0, 1))["input_ids"].shape == (1, 1)
