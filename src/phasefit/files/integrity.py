"""Checksums of a run's model files: written to its manifest when it is finished, compared when it is loaded.

They detect damage, not tampering: whoever changes a file on purpose can change the manifest too. Covered are the files
that phasefit reads again; reports, pictures, the card and logs may be edited or deleted. Imports no torch.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from phasefit.errors import ModelError

FileState: TypeAlias = Literal["intact", "damaged", "missing", "foreign"]

FILES = "files"  # the manifest key: relative path with forward slashes -> sha256
ENCODER, PHASES = "encoder", "phases"
COVERED_FOLDERS = (ENCODER, PHASES)
NEEDED = ("heads.safetensors", "labels.json", "terms.json")  # the last one only of a TF-IDF model
OPTIONAL = ("recipe.toml", "metrics.json", "trained_on.safetensors")  # predictions need none of them
FIRST_FORMAT = 2  # earlier folders have no checksums
CLUTTER = re.compile(r"\.DS_Store|\._.*|Thumbs\.db|desktop\.ini")  # written by file managers
SHA256 = re.compile(r"[0-9a-f]{64}")


def hash_files(folder: Path) -> dict[str, str]:
    """The sha256 of every covered file in a folder, by its relative path."""
    return {name: sha256(folder / name) for name in _covered_files(folder)}


def has_checksums(manifest: Mapping[str, Any]) -> bool:
    """Whether a finished folder of this format has checksums."""
    number = manifest.get("format")
    return isinstance(number, int) and number >= FIRST_FORMAT


def compare_files(folder: Path, manifest: Mapping[str, Any], within: str = "") -> dict[str, FileState]:
    """The state of every covered file, those of the manifest first; `within` selects one folder or file."""
    saved = checksums(folder, manifest)
    there = list(_covered_files(folder))
    states: dict[str, FileState] = {}
    for name in dict.fromkeys([*saved, *there]):
        if within and name != within and not name.startswith(f"{within}/"):
            continue
        if name not in saved:
            states[name] = "foreign"
        elif not (folder / name).is_file():
            states[name] = "missing"
        else:
            states[name] = "intact" if sha256(folder / name) == saved[name] else "damaged"
    return states


def check_files(folder: Path, manifest: Mapping[str, Any], *parts: str) -> None:
    """Raise a ModelError that names the first file that was changed, removed or added.

    `parts` are the folders and files to check. Optional files may be missing. Earlier formats have no checksums.
    """
    if not has_checksums(manifest):
        return
    sentences = {
        "damaged": "'{}' has changed since it was written; restore it, or train or save the model again",
        "missing": "'{}' is missing; restore it, or train or save the model again",
        "foreign": "'{}' does not belong to it; remove that file, or train or save the model again",
    }
    for part in parts:
        for name, state in compare_files(folder, manifest, part).items():
            if state != "intact" and not (state == "missing" and name in OPTIONAL):
                raise ModelError(f"the model in '{folder}' is damaged: " + sentences[state].format(name))


def check_small_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Check everything but the encoder and the kept phases."""
    check_files(folder, manifest, *NEEDED, *OPTIONAL)


def checksums(folder: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """The checksums of a manifest. A path outside the covered files is refused: it could be any file of the user."""
    saved = manifest.get(FILES)
    if not isinstance(saved, Mapping) or not all(
        _is_covered(name) and isinstance(value, str) and SHA256.fullmatch(value) for name, value in saved.items()
    ):
        raise ModelError(f"'{folder}': the checksums in its manifest are damaged; train or save the model again")
    return {str(name): str(value) for name, value in saved.items()}


def _is_covered(name: str) -> bool:
    first, *rest = name.split("/")
    if not rest:
        return name in (*NEEDED, *OPTIONAL)
    return first in COVERED_FOLDERS and not any(part in ("", ".", "..") or "\\" in part for part in rest)


def _covered_files(folder: Path) -> Iterator[str]:
    """The relative paths of the covered files that exist, sorted; anything else than a file counts as one."""
    for top in COVERED_FOLDERS:
        names = []
        for parent, _, files in os.walk(folder / top):
            names += [(Path(parent) / file).relative_to(folder).as_posix() for file in files]
        yield from sorted(name for name in names if not CLUTTER.fullmatch(name.rpartition("/")[2]))
    yield from (name for name in (*NEEDED, *OPTIONAL) if os.path.lexists(folder / name))


def sha256(path: Path) -> str:
    """The hash of a file; empty for anything else, because a pipe or a device could block forever."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"'{path}' cannot be read: {error.strerror or error}; check its permissions") from error
