"""A request as JSON, so that a run can be resumed from its folder alone. Imports no torch."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from phasefit.data.columns import as_names
from phasefit.data.named.lookup import VARIABLE
from phasefit.errors import RunError
from phasefit.prepare.request import TrainRequest

SOURCES = ("data", "validation", "test", "unlabelled")
PLACES = (*SOURCES, "model", "data_dir")  # fields that may name a file or folder
NAMES = ("text", "label", "settings", "levels", "classes")
IN_MEMORY = {"in memory": True}  # what stands for a table that came from Python


def request_to_json(request: TrainRequest) -> dict[str, Any]:
    """Every field; places are made absolute, so that the run can be resumed from anywhere."""
    found = {field.name: getattr(request, field.name) for field in fields(request)}
    found["model_name"] = request.model_name or request.model
    found["data_dir"] = request.data_dir or os.environ.get(VARIABLE) or None
    for name in PLACES:
        found[name] = _place(found[name])
    return found | {"out": None, **{name: list(as_names(found[name])) for name in NAMES}}


def request_from_json(content: dict[str, Any], out: Path) -> TrainRequest:
    """The request of a run that was begun in the folder `out`."""
    known = {field.name for field in fields(TrainRequest)}
    given = {name: value for name, value in content.items() if name in known}
    for name in SOURCES:
        if given.get(name) == IN_MEMORY:
            raise RunError(
                f"the run in '{out}' was begun from Python with a table in memory ({name}) and cannot be resumed"
            )
    try:
        paths = {"data_dir": Path(given["data_dir"]) if given.get("data_dir") else None, "out": out}
        lists = {name: as_names(given.get(name)) for name in NAMES}  # runs once noted a text column as it was
        fold = {"fold": tuple(given["fold"]) if given.get("fold") else None}
        return TrainRequest(**(given | paths | lists | fold))
    except (KeyError, TypeError) as error:
        raise RunError(f"the run in '{out}' cannot be resumed: its manifest is damaged ({error})") from error


def _place(value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, str | Path):
        return IN_MEMORY
    path = Path(value).expanduser()
    return str(path.resolve()) if path.exists() else str(value)
