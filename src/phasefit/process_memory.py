"""Bound the memory of processes that train or predict for a long time. Imports no torch."""

from __future__ import annotations

import ctypes
import os
import sys

# oneDNN, which torch uses, compiles code for every new shape of a batch, and keeps 1024 of them by default: the memory
# of a server grew by 40 to 90 MB in a minute. Shapes of batches hardly ever repeat, so fewer are as fast.
VARIABLE, PRIMITIVES = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32"


def bound_primitive_cache() -> None:
    """Keep little compiled code, unless the environment decides; oneDNN reads it when it is first used."""
    os.environ.setdefault(VARIABLE, PRIMITIVES)


def return_free_memory() -> bool:
    """Give freed memory back to the system; whether the C library can.

    The allocator of glibc keeps it, and its gaps grew by 20 MB in 20 shards, although no more memory was in use.
    """
    if not sys.platform.startswith("linux"):
        return False
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return trim is not None
