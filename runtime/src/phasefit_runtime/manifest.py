"""`export.json`: what an exported folder contains, checked field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard

from phasefit_runtime.errors import ExportError
from phasefit_runtime.files import AGAIN, CARD, LARGEST_MANIFEST, MANIFEST, NAME, SHA256, FileFacts, read_bounded
from phasefit_runtime.labels import LONE_SURROGATE, Labels, read_labels

FORMAT = 1
Long: TypeAlias = Literal["truncate", "head-tail", "windows"]
Pair: TypeAlias = Literal["uv", "uv_diff_prod", "cosine", "together"]
ENGINES = {"onnx": ("model.onnx",), "openvino": ("model.xml", "model.bin")}  # the files of each
LONG = ("truncate", "head-tail", "windows")
PAIRS = ("uv", "uv_diff_prod", "cosine", "together")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
WINDOWS = "windows"  # the input that states how many windows each text of a batch has
EMBEDDING = "embedding"
TOKENIZER = "tokenizer.json"
TASK = re.compile(r"[A-Za-z0-9_-]{1,200}")
MOST = 1_000_000  # tokens, windows or dimensions


@dataclass(frozen=True)
class TokenRules:
    """How texts become tokens."""

    max_length: int
    long: Long
    most_windows: int
    truncation_side: Literal["left", "right"]
    pad: int
    prompt: str
    inputs: tuple[str, ...]

    @property
    def reach(self) -> int:
        """The maximum number of tokens of a text that are used."""
        return self.max_length * (self.most_windows if self.long == "windows" else 1)


@dataclass(frozen=True)
class Task:
    """One head of the model."""

    name: str
    pair: Pair | None
    labels: Labels
    output: str  # of the graph


@dataclass(frozen=True)
class Manifest:
    """The checked content of `export.json`; `content` is everything, as it was read."""

    engine: str
    files: Mapping[str, FileFacts]
    tokens: TokenRules
    dimension: int
    tasks: Mapping[str, Task]
    content: Mapping[str, Any]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an exported folder; ExportError if it is damaged or of a later format."""
    if not folder.is_dir():
        raise ExportError(f"there is no folder '{folder}'; give a folder that 'phasefit export' wrote")
    path = folder / MANIFEST
    if not path.exists() and not path.is_symlink():
        raise ExportError(f"'{folder}' has no {MANIFEST}; give a folder that 'phasefit export' wrote")
    try:
        content = json.loads(read_bounded(path, LARGEST_MANIFEST).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ExportError):
            raise
        raise ExportError(f"'{path}' is not valid JSON; {AGAIN}") from None
    number = content.get("format") if isinstance(content, dict) else None
    if not _is_whole(number, 1):
        raise ExportError(f"'{path}' has no valid format number; {AGAIN}")
    if number > FORMAT:
        raise ExportError(
            f"'{folder}' has format {number}, and this version of phasefit-runtime reads up to {FORMAT}; upgrade it"
        )
    try:
        return _manifest(content)
    except (_DamagedError, ValueError) as error:
        raise ExportError(f"'{path}' is damaged: {error}; {AGAIN}") from None


class _DamagedError(Exception):
    """A field is missing or has a wrong value."""


def _manifest(content: dict[str, Any]) -> Manifest:
    engine = _choice(content, "engine", tuple(ENGINES))
    files = {str(name): _file(str(name), facts) for name, facts in _mapping(content, "files").items()}
    for name in (TOKENIZER, *ENGINES[engine]):
        if name not in files:
            raise _DamagedError(f"files does not list '{name}'")
    tasks = {str(name): _task(str(name), task) for name, task in _mapping(content, "tasks").items()}
    tokens, dimension = _tokens(_mapping(content, "tokens")), _whole(content, "dimension", 1)
    return Manifest(engine, files, tokens, dimension, tasks, content)


def _file(name: str, facts: Any) -> FileFacts:
    if not NAME.fullmatch(name) or name == MANIFEST:
        raise _DamagedError(f"files lists '{name:.100}', which is not a plain file name")
    known = facts if isinstance(facts, dict) else {}
    sha256, size = known.get("sha256"), known.get("size")
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256) or not _is_whole(size, 0):
        if name == CARD:  # is not checked
            return FileFacts("", 0)
        raise _DamagedError(f"files has no valid sha256 and size of '{name}'")
    return FileFacts(sha256, size)


def _tokens(content: Mapping[str, Any]) -> TokenRules:
    long: Any = _choice(content, "long", LONG)
    side: Any = _choice(content, "truncation_side", ("left", "right"))
    prompt, inputs = content.get("prompt"), content.get("inputs")
    if not isinstance(prompt, str | None) or LONE_SURROGATE.search(prompt or ""):
        raise _DamagedError("prompt is not a text")
    if not isinstance(inputs, list) or not {"input_ids", "attention_mask"} <= set(map(str, inputs)):
        raise _DamagedError("inputs does not list input_ids and attention_mask")
    unknown = next((name for name in inputs if name not in (*INPUTS, WINDOWS)), None)
    if unknown is not None:
        raise _DamagedError(f"the model has the input '{unknown!s:.100}', which this version does not know")
    windows = _whole(content, "most_windows", 1) if long == "windows" else 1
    names = tuple(name for name in inputs if name != WINDOWS)
    length = _whole(content, "max_length", 1)
    return TokenRules(length, long, windows, side, _whole(content, "pad", 0), prompt or "", names)


def _task(name: str, content: Any) -> Task:
    if not TASK.fullmatch(name):
        raise _DamagedError(f"'{name:.100}' cannot be the name of a task")
    if not isinstance(content, dict):
        raise _DamagedError(f"task '{name}' is not a JSON object")
    pair, output = content.get("pair"), content.get("output")
    if pair is not None and pair not in PAIRS:
        raise _DamagedError(f"task '{name}' has the unknown pair encoding '{pair!s:.100}'")
    if not isinstance(output, str) or not NAME.fullmatch(output):
        raise _DamagedError(f"task '{name}' names no output of the model")
    labels = read_labels(name, content.get("kind"), content.get("space"), content.get("decision"))
    return Task(name, pair, labels, output)


def _mapping(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    if not isinstance(value, dict):
        raise _DamagedError(f"{name} is missing")
    return value


def _choice(content: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = content.get(name)
    if not isinstance(value, str) or value not in known:
        raise _DamagedError(f"{name} must be {' or '.join(known)}, not '{value!s:.100}'")
    return value


def _whole(content: Mapping[str, Any], name: str, least: int) -> int:
    value = content.get(name)
    if not _is_whole(value, least) or value > MOST:
        raise _DamagedError(f"{name} must be a whole number from {least} to {MOST:,}")
    return value


def _is_whole(value: Any, least: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
