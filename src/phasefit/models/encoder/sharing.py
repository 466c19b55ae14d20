"""Divide the encoding of rows among processes: for evaluations, which all processes make together.

Every batch is encoded by one process, as by a single one, so that vectors do not depend on the number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch.distributed as dist

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.models.encoder.encoder import Encoder


@contextmanager
def shared_encoding(encoder: Encoder) -> Iterator[None]:
    """Divide what is encoded in the block among the processes; all of them must run it, with the same rows."""
    before, encoder.shares_rows = encoder.shares_rows, True
    try:
        yield
    finally:
        encoder.shares_rows = before


def turn(encoder: Encoder) -> tuple[int, int]:
    """The number of this process and the number of processes that divide the work; (0, 1) if it is not divided."""
    if not encoder.shares_rows or not dist.is_available() or not dist.is_initialized():
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


def add_up(encoder: Encoder, values: Tensor) -> Tensor:
    """The sum of the values of all processes, in place, if they divide the work; zero is what a process left out."""
    if turn(encoder)[1] > 1 and values.numel():
        dist.all_reduce(values)
    return values
