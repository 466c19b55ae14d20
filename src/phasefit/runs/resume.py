"""Resume a run that was stopped or killed, from its folder alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import DataError, RecipeError, RunError
from phasefit.events import Note
from phasefit.files.manifest import FINISHED, versions
from phasefit.recipes.reading import parse_recipe
from phasefit.runs.cleanup import cleanup_on_failure
from phasefit.runs.folder import RunFolder, read_started
from phasefit.runs.job import Job, TrainResult, carry_out, fit_job, read_job
from phasefit.runs.outside import outside_notes
from phasefit.runs.processes import is_main_process
from phasefit.runs.results import Reporter
from phasefit.runs.run import Run
from phasefit.runs.saved_specification import AGAIN, is_resumable, spec_from_json
from phasefit.runs.stop import Stop

if TYPE_CHECKING:
    from phasefit.events import Listener


def resume(path: Path, listen: Listener, *, device: str | None = None, report: Reporter | None = None) -> TrainResult:
    """Resume a run that was stopped or killed; the result matches an uninterrupted run."""
    with Stop() as stop:
        manifest = read_started(path)
        if not is_main_process() and manifest.get("status") != FINISHED:
            return fit_job(_read_again(path, manifest, device, listen), path, stop, listen)[0]
        folder = RunFolder.reopen(path) if is_main_process() else None
        if folder is None or folder.is_finished:
            return _finished(path, folder, device, listen)
        request = manifest["resume"].get("request")
        resumable = not isinstance(request, dict) or is_resumable(request)
        with cleanup_on_failure(folder, listen, fresh=False, resumable=resumable):
            return carry_out(folder, _read_again(path, manifest, device, listen), stop, listen, report)


def _finished(path: Path, folder: RunFolder | None, device: str | None, listen: Listener) -> TrainResult:
    """Return the finished run, after removing files that a kill at the very end may have left."""
    if folder is not None:
        folder.clear()
    listen(Note(f"the run in {path} is already finished"))
    run = Run.open(path)
    return TrainResult(path, run.metrics, run.predictor(device or "auto"))


def _read_again(path: Path, manifest: dict[str, Any], device: str | None, listen: Listener) -> Job:
    """The job of a started run; data that have changed since are refused."""
    try:
        spec = spec_from_json(manifest["resume"]["request"], path)
        toml, sha256, name = manifest["resume"]["recipe"], manifest["data"]["sha256"], manifest["recipe"]
        files = manifest["resume"]["files"]
        if not isinstance(toml, str) or not isinstance(name, str) or not isinstance(files, dict):
            raise TypeError(f"recipe is {toml!r} with the files {files!r}")
    except (KeyError, TypeError) as error:
        raise RunError(f"the run in '{path}' cannot be resumed: its manifest is damaged ({error}); {AGAIN}") from error
    if device is not None:
        spec = spec.replace(device=device)
    recipe = parse_recipe(toml, name=name, where=f"{path}/recipe.toml")
    for note in outside_notes(spec, recipe, path):
        listen(Note(note))
    changed = [file for file, now in recipe.file_hashes().items() if files.get(file) != now]
    if changed:
        raise RecipeError(
            f"'{changed[0]}', which the recipe of the run in '{path}' names, has changed since the run started; "
            "restore it, or train again with --overwrite"
        )
    job = replace(read_job(spec, recipe, listen), resumed=True)
    if job.prepared.sha256 != sha256:
        raise DataError(
            f"the data of the run in '{path}' have changed since it started; restore them, or train again with "
            "--overwrite"
        )
    saved_versions = manifest.get("versions")
    saved_versions = saved_versions if isinstance(saved_versions, dict) else {}
    for package, now in versions().items():
        then = saved_versions.get(package)
        if then != now:
            text = f"{package} was {then} when the run started and is {now} now: results may differ slightly"
            listen(Note(text, warning=True))
    return job
