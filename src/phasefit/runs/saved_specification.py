"""A specification as JSON, so that a run can be resumed from its folder alone. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.data.columns import as_names
from phasefit.data.named.cards import VARIABLE
from phasefit.errors import PhasefitError, RunError
from phasefit.runs.specification import OPTIONS, RunSpec, run_spec

SOURCES = ("data", "validation", "test", "unlabelled")
PLACES = (*SOURCES, "model", "data_dir")  # options that may name a file or folder
NAMES = ("text", "label", "levels", "classes")
AGAIN = "train again with --overwrite"
REQUEST = "request"  # in the manifest of a finished run: its specification, to read its data again
IN_MEMORY = {"in memory": True}  # placeholder for a table passed from Python


def spec_to_json(spec: RunSpec) -> dict[str, Any]:
    """Every option; paths are made absolute, so that the run can be resumed from any folder."""
    options = spec.options()
    options["model_name"] = spec.model_name or spec.model
    options["data_dir"] = spec.data.data_dir or os.environ.get(VARIABLE) or None
    for name in PLACES:
        options[name] = _place(options[name])
    return options | {"out": None, **{name: list(as_names(options[name])) for name in NAMES}}


def is_resumable(content: Mapping[str, Any]) -> bool:
    """Whether all tables of a saved specification can be read again."""
    return all(content.get(name) != IN_MEMORY for name in SOURCES)


def finished_request(spec: RunSpec, read_as: Mapping[str, Any]) -> dict[str, Any]:
    """What the manifest of a finished run keeps of its specification; nothing if tables were passed from Python."""
    request = spec_to_json(spec) | {"read_as": read_as or None}
    return {REQUEST: request} if is_resumable(request) else {}


def spec_from_json(content: Mapping[str, Any], out: Path) -> RunSpec:
    """The specification of a run that was started in the folder `out`."""
    if not isinstance(content, Mapping):
        raise RunError(f"the run in '{out}' cannot be resumed: its manifest is damaged (request: {content!r}); {AGAIN}")
    options = {name: value for name, value in content.items() if name in OPTIONS}
    for name in SOURCES:
        if options.get(name) == IN_MEMORY:
            raise RunError(
                f"the run in '{out}' was started from Python with a table in memory ({name}) and cannot be resumed; "
                f"{AGAIN}"
            )
    try:
        paths = {"data_dir": Path(options["data_dir"]) if options.get("data_dir") else None, "out": out}
        lists = {name: as_names(options.get(name)) for name in NAMES}
        fold = {"fold": tuple(options["fold"]) if options.get("fold") else None}
        return run_spec(**(options | paths | lists | fold))
    except (KeyError, TypeError, PhasefitError) as error:
        raise RunError(f"the run in '{out}' cannot be resumed: its manifest is damaged ({error}); {AGAIN}") from error


def _place(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, str | Path):
        return IN_MEMORY
    path = Path(value).expanduser()
    return str(path.resolve()) if path.exists() else str(value)
