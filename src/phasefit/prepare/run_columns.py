"""How the tables that a run was trained on were read, out of its manifest: for whoever reads such tables again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from phasefit.data.columns import Columns
from phasefit.files.manifest import MANIFEST, read_manifest


def columns_of(run: str | Path, task: str | None = None) -> Columns | None:
    """The columns that a run was trained on, to be taken where a table has them and no others are named."""
    known = _about_data(run, task).get("columns")
    if not isinstance(known, dict):
        return None
    return Columns(str(known["text"]), tuple(known.get("labels", ())), tuple(known.get("others", ())))


def reading_of(run: str | Path, task: str | None = None) -> dict[str, Any]:
    """How the labels that a run was trained on are to be read."""
    about = _about_data(run, task)
    known = about.get("columns")
    columns = known if isinstance(known, dict) else {}
    found = {"kind": about.get("kind"), **{name: columns.get(name) for name in ("tree", "separator")}}
    return found | {"levels": tuple(columns.get("levels") or ())}


def _about_data(run: str | Path, task: str | None = None) -> dict[str, Any]:
    folder = Path(run).expanduser()
    found = read_manifest(folder).get("data") if (folder / MANIFEST).is_file() else None
    tasks = found.get("tasks") if isinstance(found, dict) else None
    if isinstance(tasks, dict):
        found = tasks.get(task or "") or (next(iter(tasks.values())) if len(tasks) == 1 else None)
    return found if isinstance(found, dict) else {}
