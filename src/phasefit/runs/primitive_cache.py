"""Bound the memory of processes that predict for a long time. Imports no torch."""

from __future__ import annotations

import os

# oneDNN, which torch uses, compiles code for every new shape of a batch, and keeps 1024 of them by default: the memory
# of a server grew by 40 to 90 MB in a minute. Shapes of batches hardly ever repeat, so fewer are as fast.
VARIABLE, PRIMITIVES = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32"


def bound_primitive_cache() -> None:
    """Keep little compiled code, unless the environment decides; oneDNN reads it when it is first used."""
    os.environ.setdefault(VARIABLE, PRIMITIVES)
