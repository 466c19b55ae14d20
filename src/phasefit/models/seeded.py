"""Torch's default generator, borrowed: layers and dropout take no generator of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Run the block on a default generator seeded with `seed`, and give the old state back after it."""
    devices = [device] if device is not None and device.type != "cpu" else []
    kind = devices[0].type if devices else "cuda"
    with torch.random.fork_rng(devices=devices, device_type=kind):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.get_device_module(devices[0]).manual_seed(seed)
        yield
