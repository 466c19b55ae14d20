"""Tensors as safetensors: atomic writes, and the shapes in a file. Torch is imported only to write."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.files.atomic import write_file

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

LONGEST_HEADER = 100_000_000  # the limit of the safetensors library


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors atomically, from any device."""
    from safetensors.torch import save_file

    content = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    write_file(path, lambda temporary: save_file(content, temporary))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write NumPy arrays atomically, without torch."""
    from safetensors.numpy import save_file

    write_file(path, lambda temporary: save_file(dict(arrays), temporary))


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor in a file, from its header alone; ValueError if it does not fit the file."""
    with path.open("rb") as file:
        size = path.stat().st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST_HEADER):
            raise ValueError("its header is cut off")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("its header is not a table")
    shapes = {}
    for name, entry in header.items():
        if name != "__metadata__":
            shapes[name] = _shape(name, entry, size - 8 - length)
    return shapes


def _shape(name: str, entry: Any, size: int) -> tuple[int, ...]:
    """The shape of one tensor, which has at least half a byte per number in the file."""
    shape, ends = (entry.get("shape"), entry.get("data_offsets")) if isinstance(entry, dict) else (None, None)
    lists = isinstance(shape, list) and isinstance(ends, list) and len(ends) == 2
    numbers: list[Any] = [*(shape or []), *(ends or [])] if lists else []
    if not lists or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"its header is wrong at '{name}'")
    begin, end = numbers[-2:]
    if not begin <= end <= size or math.prod(numbers[:-2]) > 2 * (end - begin):
        raise ValueError(f"tensor '{name}' does not fit the size of the file")
    return tuple(numbers[:-2])
