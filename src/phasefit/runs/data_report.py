"""Everything that `train` reports about the data before the first step, without training."""

from __future__ import annotations

from collections.abc import Callable

from phasefit.errors import ModelError, PhasefitError
from phasefit.events import Event, Note
from phasefit.runs.job import read_job
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.specification import RunSpec


def data_report(spec: RunSpec, listen: Callable[[Event], None]) -> list[Note]:
    """The notes of a run with this specification, up to its first step; an error of the data is the last note.

    Rows with empty cells are left out, so that they do not hide the rest; a note says so.
    """
    notes: list[Note] = []

    def collect(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event)
        else:
            listen(event)

    try:
        _report(spec, collect)
    except ModelError as error:
        notes.append(Note(f"texts are not tokenised: {error}", warning=True))
    except PhasefitError as error:
        notes.append(Note(f"training with the default recipe would stop here: {error}", warning=True))
    return notes


def _report(spec: RunSpec, listen: Callable[[Event], None]) -> None:
    recipe = requested_recipe(spec)
    prepared = read_job(spec.replace(empty="drop"), recipe, listen).prepared
    if spec.data.empty != "drop" and prepared.source.dropped:
        rows = sum(prepared.source.dropped.values())
        listen(Note(f"training refuses {rows:,} rows with empty cells unless you use --empty drop", warning=True))
    recipe = resolve_recipe(spec, recipe, prepared, listen)

    from phasefit.runs.fitting.index_rows import index_rows
    from phasefit.runs.fitting.starting import starting_model

    index_rows(starting_model(spec, prepared), prepared, recipe, spec.seed, listen)
