"""Read the rows of a finished run again: the manifest keeps the options that name and split its tables.

Paths are kept as they were given, so that a run folder reveals no more than its command. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import DataError, PhasefitError
from phasefit.events import Note
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.outside import outside_notes
from phasefit.runs.saved_specification import SOURCES, spec_from_json
from phasefit.runs.specification import DEFAULT_RECIPE, DEFAULTS, OPTIONS, RunSpec

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.runs.run import Run

SECTIONS = ("data", "split", "")  # "" is the run itself: its seed and the run that it continues from
OTHERS = ("recipe",)
LEFT_OUT = ("read_as",)  # has absolute paths, and is detected again


def data_request(spec: RunSpec) -> dict[str, Any] | None:
    """The options that name and split the tables, without defaults; None if a table was in memory."""
    names = [name for name, (section, _) in OPTIONS.items() if section in SECTIONS and name not in LEFT_OUT]
    request: dict[str, Any] = {}
    for name in (*names, *OTHERS):
        value = spec.option(name)
        if name in SOURCES and not isinstance(value, str | Path | None):
            return None
        if value != DEFAULTS[name]:
            request[name] = _plain(value)
    return request


def read_rows_again(run: Run, listen: Listener) -> Prepared:
    """The rows of a finished run, split as for training; DataError if they are gone or have changed."""
    request, facts = run.manifest.get("request"), run.manifest.get("data")
    sha256 = facts.get("sha256") if isinstance(facts, Mapping) else None
    if not isinstance(request, Mapping) or not request.get("data") or run.recipe is None or not sha256:
        raise DataError(f"the run '{run.source}' does not state which table it was trained on")
    try:
        spec = spec_from_json(request, run.folder)
        for note in outside_notes(spec, run.recipe, run.folder):
            listen(Note(note))
        needs = needs_of(run.recipe, open=spec.recipe.name == DEFAULT_RECIPE)
        base = base_run(spec.model, spec.model_name)
        prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base, needs=needs)
    except PhasefitError as error:
        raise DataError(f"the table of the run '{run.source}' cannot be read again ({error})") from error
    if prepared.sha256 != sha256:
        raise DataError(f"the table of the run '{run.source}' has changed since it was trained")
    return prepared


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value
