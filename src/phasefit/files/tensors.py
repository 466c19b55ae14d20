"""Atomic writes of tensors as safetensors. Torch is imported inside, because `files` must load without it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.files.atomic import write_file

if TYPE_CHECKING:
    from torch import Tensor


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors atomically, from any device."""
    from safetensors.torch import save_file

    content = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    write_file(path, lambda temporary: save_file(content, temporary))
