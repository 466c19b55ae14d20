"""Seeds torch's default generator for a block, because layers and dropout accept no other generator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Run the block with the default generator seeded with `seed`, then restore its state."""
    devices = [device] if device is not None and device.type != "cpu" else []
    kind = devices[0].type if devices else "cuda"
    with torch.random.fork_rng(devices=devices, device_type=kind):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.get_device_module(devices[0]).manual_seed(seed)
        yield
