"""The files of a model folder: those with checksums in its manifest, and of these the ones that a push contains.

A folder is a run or a saved model (`phasefit.json`) or an exported model (`export.json`). Its manifest may come from a
stranger: names outside the folder are refused.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import ModelError
from phasefit.files.atomic import read_json
from phasefit.files.integrity import ENCODER, FILES, PHASES, SHA256, checksums, has_checksums, sha256
from phasefit.files.links import refuse_links
from phasefit.files.manifest import EXPORTED_TEXTS, EXPORTED_VECTORS, MANIFEST, read_manifest
from phasefit.files.toml import to_toml

EXPORT = "export.json"
MANIFESTS = (MANIFEST, EXPORT)
CARD, REPORT, RECIPE = "README.md", "report.html", "recipe.toml"
PICTURES = tuple(  # that a run draws; any other picture in its folder was put there by someone else
    f"{name}.{ending}"
    for name in ("scores", "confusion", "classes", "reliability", "embeddings", "geometry", "history")
    for ending in ("png", "svg")
)
TEXTS = (EXPORTED_TEXTS, EXPORTED_VECTORS)
HASHES = "trained_on.safetensors"  # of training texts: whoever has a text can test whether it is among them
LOCAL = ("command", "request", "resume", "replaces")  # manifest entries that name files of the user
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # the files of an exported folder
MODULES, MODULES_CONFIG = "modules.json", "config_sentence_transformers.json"


@dataclass(frozen=True)
class ModelFolder:
    """A folder with a manifest, and the sha256 of each file that the manifest covers."""

    folder: Path
    manifest_name: str
    manifest: Mapping[str, Any]
    files: Mapping[str, str]

    @property
    def is_export(self) -> bool:
        """Whether it is an exported model."""
        return self.manifest_name == EXPORT

    def check(self) -> None:
        """Raise ModelError if a file is missing or differs from its checksum."""
        for name, saved in self.files.items():
            if sha256(self.folder / name) != saved:
                state = "has changed since it was written" if (self.folder / name).is_file() else "is missing"
                raise ModelError(f"the model in '{self.folder}' is damaged: '{name}' {state}; train or save it again")


def open_folder(folder: Path) -> ModelFolder:
    """Open a finished run, a saved model or an exported model; anything else is refused."""
    if not (folder / MANIFEST).is_file() and (folder / EXPORT).is_file():
        refuse_links(folder)
        content = read_json(folder / EXPORT)
        return ModelFolder(folder, EXPORT, content, export_checksums(folder, content))
    manifest = read_manifest(folder)
    if not has_checksums(manifest):
        raise ModelError(f"'{folder}' has no checksums, because an earlier version wrote it; train or save it again")
    return ModelFolder(folder, MANIFEST, manifest, checksums(folder, manifest))


def export_checksums(folder: Path, manifest: Any) -> dict[str, str]:
    """The checksums of an exported folder, except that of its card, which people may edit."""
    files = manifest.get(FILES) if isinstance(manifest, Mapping) else None
    found = {}
    for name, facts in files.items() if isinstance(files, Mapping) else ((None, None),):
        value = facts.get("sha256") if isinstance(facts, Mapping) else None
        if not isinstance(name, str) or not PLAIN.fullmatch(name) or not isinstance(value, str):
            raise ModelError(f"'{folder}': {EXPORT} is damaged; export the run again")
        if name != CARD and not SHA256.fullmatch(value):
            raise ModelError(f"'{folder}': {EXPORT} is damaged; export the run again")
        found[name] = value
    return {name: value for name, value in found.items() if name not in (CARD, EXPORT)}


def pushed_files(model: ModelFolder, *, report: bool = False, texts: bool = False) -> dict[str, Path | bytes]:
    """What a push contains, without the card: a file of the folder, or the content of a new one.

    Left out are checkpoints, logs, kept phases, data, and anything with texts, unless `report` or `texts` ask for it.
    """
    kept = {name: sha for name, sha in model.files.items() if _is_published(name, texts)}
    content: dict[str, Path | bytes] = {name: model.folder / name for name in kept}
    if RECIPE in kept and (recipe := _published_recipe(model.folder / RECIPE)) is not None:
        content[RECIPE], kept[RECIPE] = recipe, hashlib.sha256(recipe).hexdigest()
    content[model.manifest_name] = _published_manifest(model, kept)
    for path in sorted(model.folder.iterdir()):
        shown = path.name in PICTURES or (report and path.name == REPORT)
        if shown and path.is_file():
            content[path.name] = path
    return content | _sentence_transformer(model)


def is_ours(name: str) -> bool:
    """Whether a file of a repository is one that a push may have written; a new push removes it if it is not new."""
    first, *rest = name.split("/")
    if rest:
        return first in (ENCODER, PHASES)
    endings = (".safetensors", ".onnx")
    known = (*MANIFESTS, *PICTURES, REPORT, *TEXTS, MODULES, MODULES_CONFIG, "labels.json", "terms.json", RECIPE)
    exported = ("metrics.json", "tokenizer.json", "model.xml", "model.bin")
    return name in (*known, *exported) or name.endswith(endings)


def _is_published(name: str, texts: bool) -> bool:
    return not name.startswith(f"{PHASES}/") and name != HASHES and (texts or name not in TEXTS)


def _published_manifest(model: ModelFolder, kept: Mapping[str, str]) -> bytes:
    """The manifest without what names files of the user, and with the checksums of the published files only."""
    content = {name: value for name, value in model.manifest.items() if name not in LOCAL}
    saved = dict(model.manifest[FILES])
    content[FILES] = {name: saved[name] for name in kept} if model.is_export else dict(kept)
    for name in ("model", "went_on_from"):
        if isinstance(content.get(name), str):
            content[name] = without_folder(content[name])
    if isinstance(settings := content.get("settings"), Mapping):
        content["settings"] = _without_folders(settings)
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _published_recipe(path: Path) -> bytes | None:
    """A recipe without the folders of the files that its options name; None if it names none, or is not readable."""
    try:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    published = _without_folders(recipe)
    return None if published == recipe else to_toml(published).encode()


def _without_folders(value: Any) -> Any:
    """Settings with the last part of each absolute path in them."""
    if isinstance(value, Mapping):
        return {name: _without_folders(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner) for inner in value]
    return without_folder(value) if isinstance(value, str) else value


def without_folder(name: str) -> str:
    """The name of a model, or the last part of an absolute path."""
    path = Path(name)
    return path.name if path.is_absolute() or name.startswith("~") else name


def _sentence_transformer(model: ModelFolder) -> dict[str, Path | bytes]:
    """Two small files that let sentence-transformers load the folder `encoder` by the name of the repository."""
    modules = model.folder / ENCODER / MODULES
    if model.is_export or not modules.is_file():
        return {}
    listed = read_json(modules)
    try:
        moved = [{**one, "path": f"{ENCODER}/{one['path']}".rstrip("/")} for one in listed]
    except (TypeError, KeyError):
        raise ModelError(f"'{modules}' is damaged; train or save the model again") from None
    content: dict[str, Path | bytes] = {MODULES: (json.dumps(moved, indent=2) + "\n").encode()}
    if (modules.parent / MODULES_CONFIG).is_file():
        content[MODULES_CONFIG] = modules.parent / MODULES_CONFIG
    return content
