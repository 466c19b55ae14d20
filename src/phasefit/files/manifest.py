"""`phasefit.json`: what a folder holds, in which format, and how it came about."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError
from phasefit.files.atomic import read_json

FORMAT = 1
MANIFEST = "phasefit.json"
FINISHED = "finished"
PACKAGES = ("phasefit", "torch", "transformers", "sentence-transformers", "accelerate", "numpy")


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
    manifest: dict[str, Any] = content
    return manifest


def versions() -> dict[str, str]:
    """The versions that matter for repeating a run, without importing what they are of."""
    known = {}
    for package in PACKAGES:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return known
