"""How many times faster a graph is than torch: CPU seconds in one thread, measured in turns.

Seconds on the clock would measure what else the machine does; in turns, both meet the same disturbances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from phasefit.export.batches import timed_batch
from phasefit.kinds import kind_of

if TYPE_CHECKING:
    from phasefit.data.table import Table
    from phasefit.models.exported import ExportedModel
    from phasefit.models.model import Model
Clock: TypeAlias = Callable[[], float]  # CPU seconds of this process
ROUNDS = {1: 15, 32: 5}  # by batch size
WARM_UP = 2


def speed_ratios(model: Model, exported: ExportedModel, checked: Mapping[str, Table], clock: Clock) -> dict[int, float]:
    """Times as fast as torch, by batch size, on rows of the first task."""
    task = next(iter(model.heads), next(iter(checked)))
    output = "outputs_0" if len(model.heads) else "embedding"
    ratios = {}
    with _one_thread():
        for size, rounds in ROUNDS.items():
            feeds = timed_batch(model, checked[task], task, size)
            jobs: tuple[Callable[[], np.ndarray], ...] = (
                partial(run_torch, model, feeds, task),
                partial(exported.run_graph, output, feeds),
            )
            for _ in range(WARM_UP):
                for job in jobs:
                    job()
            seconds: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds):
                for job, own in zip(jobs, seconds, strict=True):
                    start = clock()
                    job()
                    own.append(clock() - start)
            ratios[size] = median(seconds[0]) / max(median(seconds[1]), 1e-12)
    return ratios


def run_torch(model: Model, feeds: Mapping[str, np.ndarray], task: str) -> np.ndarray:
    """What the graph computes, in torch, as `predict` runs it: with its own attention and packing."""
    import torch

    from phasefit.models.encoder.encoder import sentence_vectors

    features = {name: torch.from_numpy(feeds[name]) for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        vectors = sentence_vectors(model.encoder(features))
        if not len(model.heads):
            return np.asarray(vectors.numpy())
        head, space = model.head(task), model.space_of(task)
        if head.pair is not None:
            vectors = vectors.reshape(-1, 2 * model.encoder.dimension)
        return kind_of(space).outputs(head(vectors), space)


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
