"""`phasefit.json`: what a folder holds, in which format, and how it came about."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError, RunError

FORMAT = 1
MANIFEST = "phasefit.json"
FINISHED = "finished"
PACKAGES = ("phasefit", "torch", "transformers", "sentence-transformers", "accelerate", "numpy")


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    """Write a JSON file whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        flush(part)
        os.replace(part, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def settle(path: Path) -> None:
    """A file that a library wrote: on the disk, and for all to read who may read what is written here."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)  # safetensors writes for its owner alone
    flush(path)


def flush(path: Path) -> None:
    """Wait until a file or folder is on the disk: a rename may otherwise get there before what it names."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run or saved model; anything else is refused by name."""
    content = check_format(folder, read_json(folder / MANIFEST))
    if content.get("status") != FINISHED:
        old = folder.resolve().with_name(f"{folder.resolve().name}.old")
        kept = f"; the run that it was replacing is in '{old}'" if old.exists() else ""
        raise ModelError(
            f"the run in '{folder}' is not finished; go on with it: phasefit train --resume {folder}{kept}"
        )
    return content


def check_format(folder: Path, content: Any) -> dict[str, Any]:
    """Refuse a manifest that is none, or is of a time to come."""
    number = content.get("format") if isinstance(content, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ModelError(f"'{folder}': {MANIFEST} is damaged; train or save the model again")
    if number > FORMAT:
        raise ModelError(f"'{folder}' is in format {number}, this phasefit reads up to {FORMAT}; upgrade phasefit")
    found: dict[str, Any] = content
    return found


def read_json(path: Path) -> Any:
    """A JSON file of a model folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(
            f"'{path.parent}' is no phasefit model: {path.name} is missing; give the folder of a run or a saved model"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"'{path}' is damaged ({error}); train or save the model again") from error


def versions() -> dict[str, str]:
    """The versions that matter for repeating a run, without importing what they are of."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
