"""Atomic writes of text and JSON files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, RunError


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        flush(part)
        os.replace(part, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def apply_umask_and_flush(path: Path) -> None:
    """Give a file that a library wrote the default permissions, and flush it to disk."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)  # safetensors writes files that only their owner can read
    flush(path)


def flush(path: Path) -> None:
    """Wait until a file or folder is on disk: otherwise a rename may reach the disk before the content."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> Any:
    """The content of a JSON file in a model folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(
            f"'{path.parent}' is not a phasefit model: {path.name} is missing; use the folder of a run or saved model"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"'{path}' is damaged ({error}); train or save the model again") from error
