"""Read the data of a finished run again, as the run did, and check that they have not changed. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from phasefit.errors import DataError, PhasefitError, RunError
from phasefit.events import Note
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared
from phasefit.runs.job import read_job
from phasefit.runs.outside import outside_notes
from phasefit.runs.saved_specification import REQUEST, spec_from_json

if TYPE_CHECKING:
    from phasefit.events import Event, Listener
    from phasefit.runs.run import Run


def read_training_data(run: Run, listen: Listener | None = None) -> Prepared:
    """The rows of a finished run, split as for its training; `listen` receives notes about files that it names.

    Raises a RunError if the run does not record where they are, and a DataError if they are gone or have changed.
    """
    request, facts = run.manifest.get(REQUEST), run.manifest.get("data")
    recipe = None if run.is_encoder else run.recipe
    if not isinstance(request, Mapping) or not isinstance(facts, Mapping) or recipe is None:
        raise RunError(
            f"the model in '{run.source}' does not record its training data: it was trained on tables in memory, or by "
            "an earlier version"
        )
    spec = spec_from_json(request, run.folder)
    for note in outside_notes(spec, recipe, run.folder):
        if listen is not None:
            listen(Note(note))
    try:
        prepared = read_job(spec, recipe, _quiet).prepared
    except (PhasefitError, OSError) as error:
        raise DataError(f"the training data of '{run.source}' cannot be read again ({error})") from error
    if prepared.sha256 != facts.get("sha256"):
        raise DataError(f"the training data of '{run.source}' have changed since it was trained")
    return merged(prepared) if spec.recipe.refit else prepared


def _quiet(_: Event) -> None:
    """The notes about the data were shown when the run was trained."""
