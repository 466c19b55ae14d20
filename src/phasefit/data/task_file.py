"""A task file: several tables that one encoder learns together, each with its own head.

shared = true                  # a layer after the encoder that all heads share; default: false
dropout = 0.1                  # for heads that do not set their own

[[task]]
name = "sst"
data = "cs224n-sst"            # a file next to this one, the name of a dataset or hub:owner/name
kind = "single"                # detected by default, as are the columns: text, label
delimiter = ";"                # detected by default, as are encoding and sheet; empty = "drop" drops empty rows
weight = 2                     # the weight of its loss; any other head option may follow

[before]                       # pairs or texts for phases before the tasks
data = "nli-triples"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasefit.data.columns import as_names
from phasefit.data.labels.reading import LabelReading
from phasefit.errors import DataError, LabelError, did_you_mean
from phasefit.files.names import exists, path_named

HERE = Path(__file__).parent / "tasks"
FILE = ("delimiter", "encoding", "sheet", "empty")  # how its files are read
TABLE = ("data", "text", "label", "kind", "tree", "separator", "levels", "validation", "test", "rows", *FILE)
TOP = ("task", "before", "shared", "dropout")
NAME = re.compile(r"[A-Za-z0-9_-]+")
# Attributes of torch containers, which cannot be names of heads.
# fmt: off
RESERVED = frozenset({
    "T_destination", "add_module", "apply", "bfloat16", "buffers", "call_super_init", "children", "clear", "compile",
    "cpu", "cuda", "double", "dump_patches", "eval", "extra_repr", "float", "forward", "get_buffer",
    "get_extra_state", "get_parameter", "get_submodule", "half", "ipu", "items", "keys", "load_state_dict", "modules",
    "mtia", "named_buffers", "named_children", "named_modules", "named_parameters", "parameters", "pop",
    "register_backward_hook", "register_buffer", "register_forward_hook", "register_forward_pre_hook",
    "register_full_backward_hook", "register_full_backward_pre_hook", "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook", "register_module", "register_parameter", "register_state_dict_post_hook",
    "register_state_dict_pre_hook", "requires_grad_", "set_extra_state", "set_submodule", "share_memory",
    "state_dict", "to", "to_empty", "train", "training", "type", "update", "values", "xpu", "zero_grad",
})
# fmt: on


@dataclass(frozen=True)
class TaskSpec:
    """One table and its options; `head` are the options of its head, which the phase that trains it checks."""

    name: str
    data: Any  # a path, a name, or a table in memory
    text: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    kind: str | None = None
    tree: str | None = None
    separator: str | None = None
    levels: tuple[str, ...] = ()
    validation: Any = None
    test: Any = None
    rows: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    empty: str | None = None
    head: Mapping[str, Any] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """The options for reading its tables."""
        names = ("text", "label", "kind", "tree", "separator", "levels", *FILE)
        return {name: getattr(self, name) for name in names}

    def part(self, split: str) -> str:
        """The source of this split: its own file, or the data."""
        return str(getattr(self, split, None) or self.data)


@dataclass(frozen=True)
class TaskFile:
    """All tasks in order, the table for phases before them, and what their heads share."""

    name: str
    tasks: tuple[TaskSpec, ...]
    before: TaskSpec | None = None
    shared: bool = False
    dropout: float | None = None
    in_memory: bool = False  # made in Python, not read from a file

    def where(self, task: str = "") -> str:
        """The place of a task, or of the whole, in messages."""
        file = "" if self.in_memory else f"{self.name}.toml"
        return ", ".join(part for part in (file, task and f"task '{task}'") if part)


def is_task_file(source: Any) -> bool:
    """Whether these are tasks in memory, a TOML file or the name of a packaged task file."""
    if isinstance(source, TaskFile):
        return True
    if not isinstance(source, str | Path):
        return False
    return str(source).endswith(".toml") or str(source) in packaged_tasks()


def packaged_tasks() -> list[str]:
    """The names of the packaged task files."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def read_task_file(source: str | Path | TaskFile) -> TaskFile:
    """The tasks of a file; DataError if it is invalid."""
    if isinstance(source, TaskFile):
        return source
    path = path_named(source)
    if not _is_file(path) and str(source) in packaged_tasks():
        path = HERE / f"{source}.toml"
    if not _is_file(path):
        known = ", ".join(packaged_tasks())
        raise DataError(f"there is no task file '{source}'; give a TOML file with [[task]] tables, or one of: {known}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name}: not valid TOML: {error}") from error
    for key in content:
        if key not in TOP:
            raise DataError(f"{path.name}: unknown option '{key}'; {did_you_mean(key, TOP)}")
    tables = content.get("task")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise DataError(f"{path.name}: a task file needs at least one [[task]] table, with a name and data")
    tasks = tuple(_task(table, f"{path.name}, task {number}", path) for number, table in enumerate(tables, start=1))
    names = [task.name for task in tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path.name}: two tasks are named '{twice}'; rename one")
    before = content.get("before")
    if before is not None and not isinstance(before, dict):
        raise DataError(f"{path.name}: [before] must be a table with data")
    shared, dropout = content.get("shared", False), content.get("dropout")
    if not isinstance(shared, bool):
        raise DataError(f"{path.name}: shared must be true or false, not {shared!r}")
    if dropout is not None and (
        not isinstance(dropout, int | float) or isinstance(dropout, bool) or not 0 <= dropout < 1
    ):
        raise DataError(f"{path.name}: dropout must be a number of at least 0 and below 1, not {dropout!r}")
    first = None if before is None else _task({"name": "before", **before}, f"{path.name}, before", path)
    if first is not None and first.head:
        raise DataError(f"{path.name}, before: unknown option '{next(iter(first.head))}'; [before] has no head")
    return TaskFile(path.stem, tasks, first, shared, dropout)


def _task(table: dict[str, Any], where: str, path: Path) -> TaskSpec:
    for key in ("name", "data"):
        if not isinstance(table.get(key), str) or not table[key]:
            raise DataError(f"{where}: '{key}' is missing; each task needs a name and data")
    name = check_task_name(table["name"], where)
    rows = table.get("rows")
    if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
        raise DataError(f"{where}: rows must be a whole number above 0, not {rows!r}")
    lists = {key: _names(table.get(key), key, where) for key in ("text", "label", "levels")}
    strings = {key: _string(table.get(key), key, where) for key in ("kind", "tree", "separator")}
    files = {key: _string(table.get(key), key, where) for key in FILE}
    try:
        LabelReading(**strings, levels=lists["levels"])  # raises if the options contradict each other
    except LabelError as error:
        raise LabelError(f"{where}: {error}") from None
    sources = {key: _source(table.get(key), key, where, path) for key in ("data", "validation", "test")}
    head = {key: value for key, value in table.items() if key not in (*TABLE, "name")}
    return TaskSpec(name=name, rows=rows, head=head, **lists, **strings, **files, **sources)  # type: ignore[arg-type]


def check_task_name(name: Any, where: str) -> str:
    """The name of a task; DataError if it cannot be the name of a head."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DataError(f"{where}: the name '{name}' may contain only letters, digits, - and _; choose another")
    if name in RESERVED or name.startswith("_"):
        raise DataError(f"{where}: a task cannot be named '{name}', which is reserved; choose another name")
    return name


def _names(value: Any, key: str, where: str) -> tuple[str, ...]:
    names = as_names(value) if value is None or isinstance(value, str | list) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where}: {key} must be a name or a list of names, not {value!r}")
    return names


def _string(value: Any, key: str, where: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise DataError(f"{where}: {key} must be a string, not {value!r}")
    return value


def _source(value: Any, key: str, where: str, path: Path) -> str | None:
    """A data source; a file next to the task file comes first."""
    name = _string(value, key, where)
    if not name or name.startswith("hub:"):
        return name
    file = path.parent / path_named(name)
    return str(file) if exists(file) else name


def _is_file(path: Path) -> bool:
    return exists(path) and path.is_file()
