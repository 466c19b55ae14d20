"""Checkpoints: numbered folders of tensors (safetensors) and facts (JSON).

A checkpoint is written under a temporary name, flushed to disk and then renamed, so that an interruption never leaves
a partial one. Checksums show later damage. Two are kept: if the newest is damaged, the previous one is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from phasefit.errors import RunError
from phasefit.files.atomic import discard_tree, make_folders, new_folder, write_text
from phasefit.files.integrity import sha256
from phasefit.files.tensors import write_tensors
from phasefit.training.checkpoint_folder import CHECKPOINTS, numbered

TENSORS, FACTS, CHECKSUMS = "tensors.safetensors", "facts.json", "checksums.json"
FORMAT = 2
KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read."""

    path: Path
    tensors: dict[str, Tensor]
    facts: dict[str, Any]


def write_checkpoint(run: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Path:
    """Write a new checkpoint and delete old ones."""
    before = numbered(run)
    folder = run / CHECKPOINTS / f"{int(before[-1].name) + 1 if before else 1:06d}"
    try:
        make_folders(folder.parent)
        with new_folder(folder) as temporary:
            write_tensors(temporary / TENSORS, tensors)
            write_text(temporary / FACTS, json.dumps({"format": FORMAT, **facts}))
            write_checksums(temporary)
    except (OSError, SafetensorError) as error:
        raise RunError(f"cannot write a checkpoint to {folder.parent}: {_reason(error)}") from error
    for old in before[: -(KEPT - 1)]:
        discard_tree(old)
    return folder


def read_checkpoint(
    run: Path, check: Callable[[Checkpoint], object] = lambda _: None
) -> tuple[Checkpoint | None, list[str]]:
    """The newest readable checkpoint, and a note for each damaged one; `check` raises ValueError for a damaged one."""
    notes: list[str] = []
    for folder in reversed(numbered(run)):
        try:
            _check_checksums(folder)
            facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
            if not isinstance(facts, dict) or facts.get("format") != FORMAT:
                raise ValueError(f"{FACTS} is not of format {FORMAT}")
            checkpoint = Checkpoint(folder, load_file(folder / TENSORS), facts)
            check(checkpoint)
            return checkpoint, notes
        except (OSError, ValueError, RecursionError, SafetensorError) as error:
            notes.append(f"{folder} is damaged ({_reason(error)}) and is skipped")
    return None, notes


def write_checksums(folder: Path) -> None:
    """Write the sha256 of the files of a checkpoint next to them."""
    write_text(folder / CHECKSUMS, json.dumps({name: sha256(folder / name) for name in (TENSORS, FACTS)}))


def _check_checksums(folder: Path) -> None:
    saved = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    for name in (TENSORS, FACTS):
        if not isinstance(saved, dict) or saved.get(name) != sha256(folder / name):
            raise ValueError(f"{name} has changed since it was written")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())[:160]
