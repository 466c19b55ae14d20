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
PACKAGES = ("phasefit", "torch", "transformers", "sentence-transformers", "accelerate", "numpy")


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    """Write a JSON file whole or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run or saved model; anything else is refused by name."""
    content = read_json(folder / MANIFEST)
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise ModelError(f"'{folder}': {MANIFEST} is damaged; train or save the model again")
    if content["format"] > FORMAT:
        raise ModelError(
            f"'{folder}' is in format {content['format']}, this phasefit reads up to {FORMAT}; upgrade phasefit"
        )
    if content.get("status") != "finished":
        old = folder.with_name(folder.name + ".old")
        kept = f"; the run that it was replacing is in '{old}'" if old.exists() else ""
        raise ModelError(f"the run in '{folder}' is not finished; train it again with --overwrite{kept}")
    return content


def read_json(path: Path) -> Any:
    """A JSON file of a model folder."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"'{path.parent}' is no phasefit model: {path.name} is missing") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"'{path}' is damaged: {error}") from error


def versions() -> dict[str, str]:
    """The versions that matter for repeating a run, without importing what they are of."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
