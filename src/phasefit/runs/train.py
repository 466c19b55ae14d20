"""Train a run: from a specification to a finished run folder, which is created before torch is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import RunError
from phasefit.events import Note
from phasefit.files.atomic import write_text
from phasefit.runs.cleanup import cleanup_on_failure
from phasefit.runs.fitting.starting import check_start
from phasefit.runs.folder import RUNS, RunFolder, check_free, next_folder
from phasefit.runs.job import TrainResult, carry_out, fit_job, read_job
from phasefit.runs.outside import outside_notes
from phasefit.runs.processes import is_main_process
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.results import Reporter, started_facts
from phasefit.runs.saved_specification import is_resumable, spec_to_json
from phasefit.runs.specification import RunSpec
from phasefit.runs.stop import Stop
from phasefit.runs.tracking import check_tracker

if TYPE_CHECKING:
    from phasefit.events import Listener


def train(
    spec: RunSpec,
    listen: Listener,
    files: Mapping[str, str] | None = None,
    *,
    report: Reporter | None = None,
) -> TrainResult:
    """Read, split, train phase by phase, evaluate once on test, save, report.

    `files` are written into the new folder, for instance how the recipe was chosen. `report` writes the page, pictures
    and card, unless the specification turns them off.
    """
    recipe = requested_recipe(spec)
    for note in outside_notes(spec, recipe):
        listen(Note(note))
    recipe.check_files()
    check_tracker(spec.machine.track)
    if spec.output.folder is not None and is_main_process():
        check_free(Path(spec.output.folder), overwrite=spec.output.overwrite)
        _refuse_in_place(spec)
    job = read_job(spec, recipe, listen)
    recipe = resolve_recipe(spec, recipe, job.prepared, listen)
    job = replace(job, recipe=recipe)
    check_start(spec, recipe)
    with Stop() as stop:
        if not is_main_process():
            return fit_job(job, Path(spec.output.folder or RUNS), stop, listen)[0]
        path = Path(spec.output.folder) if spec.output.folder is not None else next_folder(job.prepared.name)
        folder = RunFolder(path, overwrite=spec.output.overwrite)
        listen(Note(f"the run is in {path}"))
        request = spec_to_json(spec) | {"read_as": job.prepared.read_as or None}
        with cleanup_on_failure(folder, listen, fresh=True, resumable=is_resumable(request)):
            resume = {"request": request, "recipe": recipe.to_toml(), "files": recipe.file_hashes()}
            folder.begin({**started_facts(job), "resume": resume})
            for name, text in (files or {}).items():
                write_text(folder.path / name, text)
            return carry_out(folder, job, stop, listen, report)


def _refuse_in_place(spec: RunSpec) -> None:
    if spec.model is None or not Path(spec.model).expanduser().exists():
        return
    model, out = Path(spec.model).expanduser().resolve(), Path(str(spec.output.folder)).resolve()
    if out in (model, *model.parents):
        raise RunError(
            f"{spec.output.folder} holds the run to continue from and cannot be replaced; give another folder with -o"
        )
