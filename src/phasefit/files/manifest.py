"""`phasefit.json`: the content of a folder, its format, and how it was made."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError
from phasefit.files.atomic import read_json
from phasefit.files.links import refuse_links

FORMAT = 2  # since 2 with the checksums of the model files
MANIFEST = "phasefit.json"
EXPORT = "export.json"  # the manifest of an exported folder
EXPORTED_TEXTS, EXPORTED_VECTORS = "texts.jsonl", "texts.npy"  # its training texts and their embeddings, if it has them
FINISHED = "finished"
PACKAGES = ("phasefit", "torch", "transformers", "sentence-transformers", "accelerate", "numpy")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run or saved model; ModelError for any other folder."""
    refuse_links(folder)
    refuse_export(folder)
    content = check_format(folder, read_json(folder / MANIFEST))
    if content.get("status") != FINISHED:
        old = folder.resolve().with_name(f"{folder.resolve().name}.old")
        kept = f"; the run it was replacing is in '{old}'" if old.exists() else ""
        raise ModelError(f"the run in '{folder}' is not finished; resume it: phasefit train --resume {folder}{kept}")
    return content


def refuse_export(folder: Path) -> None:
    """Raise a ModelError for an exported folder, which only predicts and embeds."""
    if (folder / EXPORT).is_file() and not (folder / MANIFEST).exists():
        raise ModelError(
            f"'{folder}' is an exported folder, which can only predict and embed; use the run that it was exported from"
        )


def check_format(folder: Path, content: Any) -> dict[str, Any]:
    """Return the manifest; ModelError if it is damaged or was written by a later version."""
    number = content.get("format") if isinstance(content, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ModelError(f"'{folder}': {MANIFEST} is damaged; train or save the model again")
    if number > FORMAT:
        raise ModelError(
            f"'{folder}' has format {number}, and this version of phasefit reads up to {FORMAT}; upgrade phasefit"
        )
    manifest: dict[str, Any] = content
    return manifest


def versions() -> dict[str, str]:
    """The package versions needed to repeat a run, read without importing the packages."""
    installed = {}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
