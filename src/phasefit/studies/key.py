"""The key of a cell: cells with equal keys share a result. Imports no torch.

A key is computed from the options that differ from their defaults, the data, the seed and a protocol number. Adding an
option therefore keeps existing keys. Tables, models and files of a recipe count by content, not by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from phasefit.baselines import BASELINES
from phasefit.data.sources import source_files
from phasefit.data.task_file import TaskSpec, is_task_file, read_task_file
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import DataError
from phasefit.recipes import read_recipe
from phasefit.recipes.settings import Settings
from phasefit.runs.specification import DEFAULT_RECIPE, RunSpec

PROTOCOL = 3
"""Increase it by one whenever the same options, data and seed may give different results: when a default changes (of a
run, a phase, an objective or a view), or the default model, a dataset's card, a split, or the training itself. Keep it
for a new option whose default changes nothing, and for new versions of packages, which result.json records. With a
higher protocol every cell is run again."""

BASELINE_VERSIONS = {
    "frozen": 2,  # C is chosen by cross-validation
    DEFAULT_RECIPE: 4,  # label-names for few rows of classes whose names help
}
"""Increase the number of a baseline or of the default recipe (1 if it is not listed) when it gives different results;
only its cells are run again."""
WITH_TEXTS = 2  # the same for the default recipe with unlabelled texts: self-training for few rows
PHASE_VERSIONS = {"self-train": 2}  # the same for phases: rounds are judged by accuracy

SOURCES = ("source", "validation", "test", "unlabelled")
SEPARATE = ("name", "settings", "model", "seed", *SOURCES)  # have their own entries in the identity
OUTPUT_ONLY = (
    "folder",
    "overwrite",
    "command",
    "track",
    "report",
    "baselines",
    "keep_phases",
    "model_name",
)  # only affect output
NO_EFFECT = ("checkpoint_minutes", "data_dir")  # checkpoints do not change results; tables count by content
LEFT_OUT = (*SEPARATE, *OUTPUT_ONLY, *NO_EFFECT)
CHUNK = 1 << 20


def run_identity(spec: RunSpec, pairs: str | None = None) -> dict[str, Any]:
    """What determines the result of a run; `pairs` is the dataset that encoders are scored on instead of test rows."""
    sources = {name: getattr(spec.data, name) for name in SOURCES} | {"pairs": pairs}
    sections = {one.name: getattr(spec, one.name) for one in fields(spec) if is_dataclass(getattr(spec, one.name))}
    machine = differing(sections.pop("machine"), LEFT_OUT)
    options = differing(spec, (*sections, "machine", *LEFT_OUT))
    for section in sections.values():
        options |= differing(section, LEFT_OUT)
    identity: dict[str, Any] = {
        "protocol": PROTOCOL,
        "seed": spec.seed,
        "data": {name: data_fingerprint(one, spec.data.data_dir) for name, one in sources.items() if one is not None},
        "recipe": recipe_identity(spec.recipe.name, spec.recipe.settings),
        "options": options,
        "machine": machine,
    }
    if spec.recipe.name == DEFAULT_RECIPE and spec.data.unlabelled is not None:
        identity["recipe"]["with_texts"] = WITH_TEXTS
    return identity if spec.model is None else {**identity, "model": model_fingerprint(spec.model)}


def recipe_identity(name: str, settings: Settings, effort: int = USUAL_EFFORT) -> dict[str, Any]:
    """The phases with all options that differ from their defaults, from the file, the effort or settings."""
    if name in BASELINES or name == DEFAULT_RECIPE:
        version = {"version": BASELINE_VERSIONS[name]} if name in BASELINE_VERSIONS else {}
        return {"name": name, **version, **({"settings": dict(settings)} if settings else {})}
    recipe = read_recipe(name, settings, effort)
    contents = {str(path): f"sha256 {_of_file(path)}" for path in recipe.files()}
    whole = differing(recipe, without=("name", "phases"))
    phases = [{"kind": phase.kind, **_version(phase.kind), **differing(phase)} for phase in recipe.phases]
    identity: dict[str, Any] = _with_contents({**whole, "phases": phases}, contents)
    return identity


def _version(kind: str) -> dict[str, int]:
    return {"version": PHASE_VERSIONS[kind]} if kind in PHASE_VERSIONS else {}


def digest(identity: Any) -> str:
    """Short hash of an identity."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()[:24]


def differing(options: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass or pydantic model that differ from their defaults, nested ones included."""
    return {
        name: _plain(getattr(options, name))
        for name, default in defaults(options).items()
        if name not in without and getattr(options, name) != default
    }


def defaults(options: Any) -> dict[str, Any]:
    """The default of every field of a dataclass or pydantic model, or of its class; MISSING for required fields."""
    kind: Any = options if isinstance(options, type) else type(options)
    if issubclass(kind, BaseModel):
        return {
            name: MISSING if field.is_required() else field.get_default(call_default_factory=True)
            for name, field in kind.model_fields.items()
        }
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel) or is_dataclass(value):
        return differing(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _with_contents(value: Any, contents: Mapping[str, str]) -> Any:
    """The value with paths of files replaced by hashes of their content."""
    if isinstance(value, dict):
        return {name: _with_contents(one, contents) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_contents(one, contents) for one in value]
    return contents.get(str(Path(value)), value) if isinstance(value, str) else value


def data_fingerprint(source: Any, data_dir: Path | None = None) -> str:
    """The checksum of a file, of all files of a named dataset or folder, or of all tables of a task file."""
    if not isinstance(source, str | Path):
        raise DataError("a study reads its tables from files; give a path or the name of a dataset")
    return _of_source(str(source), data_dir)


@lru_cache(maxsize=256)
def _of_source(source: str, data_dir: Path | None) -> str:
    if is_task_file(source):
        file = read_task_file(source)
        content = differing(file, without=("name", "tasks", "before"))
        content["tasks"] = [_of_task(task, data_dir) for task in file.tasks]
        if file.before is not None:
            content["before"] = _of_task(file.before, data_dir)
        return _hash([json.dumps(content, sort_keys=True, default=str)])
    files = source_files(source, data_dir)
    return _hash(f"{part} {_of_file(file)}" for part, file in sorted(files.items())) if files else source


def _of_task(task: TaskSpec, data_dir: Path | None) -> dict[str, Any]:
    tables = {part: getattr(task, part) for part in ("data", "validation", "test")}
    contents = {part: _of_source(source, data_dir) for part, source in tables.items() if source is not None}
    return {**differing(task, without=tables), **contents}


@lru_cache(maxsize=64)
def model_fingerprint(model: str) -> str:
    """The checksum of a model's folder, or the name of a model that is not a folder."""
    path = Path(model).expanduser()
    if not path.is_dir():
        return model
    return _hash(f"{file.relative_to(path)} {_of_file(file)}" for file in sorted(path.rglob("*")) if file.is_file())


def _of_file(path: Path) -> str:
    checksum = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            checksum.update(part)
    return checksum.hexdigest()


def _hash(parts: Any) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
