"""The main job: from a specification to a finished run folder, and on from a run that was stopped.

The folder is begun before torch is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from phasefit.errors import DataError, RunError
from phasefit.events import Note, Stage
from phasefit.files.atomic import write_json, write_text
from phasefit.files.manifest import FINISHED, MANIFEST, versions
from phasefit.prepare.base import Base
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes import Recipe
from phasefit.recipes.needs import needs_of
from phasefit.recipes.reading import parse_recipe
from phasefit.runs.cleanup import cleanup_on_failure
from phasefit.runs.data_record import write_hygiene
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.folder import RUNS, RunFolder, check_free, next_folder, read_begun
from phasefit.runs.processes import is_main_process
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.run import Run
from phasefit.runs.saved_specification import spec_from_json, spec_to_json
from phasefit.runs.specification import DEFAULT_RECIPE, RunSpec
from phasefit.runs.stop import Stop
from phasefit.runs.trackers import check_tracker
from phasefit.runs.trained_texts import write_seen

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.models.model import Model
    from phasefit.runs.execution import FitResult


@dataclass(frozen=True)
class TrainResult:
    """A finished run."""

    folder: Path
    metrics: dict[str, Any]
    model: Model


@dataclass(frozen=True)
class Job:
    """What a run works with, be it new or resumed."""

    spec: RunSpec
    recipe: Recipe
    base: Base | None
    prepared: Prepared
    resumed: bool = False


@dataclass(frozen=True)
class FinishedRun:
    """What the report of a run is written from."""

    folder: Path
    recipe: Recipe
    prepared: Prepared
    result: FitResult
    manifest: Mapping[str, Any]


Reporter: TypeAlias = Callable[[FinishedRun], None]


def train(
    spec: RunSpec,
    listen: Listener,
    files: Mapping[str, str] | None = None,
    *,
    report: Reporter | None = None,
) -> TrainResult:
    """Read, split, train phase by phase, evaluate once on test, save, report.

    `files` are written into the folder when it is begun: how the recipe was chosen, for instance. `report` writes the
    page, pictures and card; without it, or where the specification wants none, the run has none.
    """
    recipe = requested_recipe(spec)
    recipe.check_files()
    check_tracker(spec.machine.track)
    if spec.output.folder is not None and is_main_process():
        check_free(Path(spec.output.folder), overwrite=spec.output.overwrite)
        _refuse_in_place(spec)
    job = _read(spec, recipe, listen)
    recipe = resolve_recipe(spec, recipe, job.prepared, listen)
    job = replace(job, recipe=recipe)
    with Stop() as stop:
        if not is_main_process():
            return _fit(job, Path(spec.output.folder or RUNS), stop, listen)[0]
        path = Path(spec.output.folder) if spec.output.folder is not None else next_folder(job.prepared.name)
        folder = RunFolder(path, overwrite=spec.output.overwrite)
        listen(Note(f"the run is in {path}"))
        with cleanup_on_failure(folder, listen, fresh=True):
            folder.begin(
                {
                    "command": spec.output.command,
                    "seed": spec.seed,
                    "recipe": recipe.name,
                    **({"settings": dict(spec.recipe.settings)} if spec.recipe.settings else {}),
                    "data": job.prepared.facts(),
                    "resume": {"request": spec_to_json(spec), "recipe": recipe.to_toml()},
                }
            )
            for name, text in (files or {}).items():
                write_text(folder.path / name, text)
            return _carry_out(folder, job, stop, listen, report)


def resume(path: Path, listen: Listener, *, device: str | None = None, report: Reporter | None = None) -> TrainResult:
    """Go on with a run that was stopped or killed; it ends as if it never had been."""
    with Stop() as stop:
        manifest = read_begun(path)
        if not is_main_process() and manifest.get("status") != FINISHED:
            return _fit(_read_again(path, manifest, device, listen), path, stop, listen)[0]
        folder = RunFolder.reopen(path) if is_main_process() else None
        if folder is None or folder.is_finished:
            return _finished(path, folder, device, listen)
        with cleanup_on_failure(folder, listen, fresh=False):
            return _carry_out(folder, _read_again(path, manifest, device, listen), stop, listen, report)


def _finished(path: Path, folder: RunFolder | None, device: str | None, listen: Listener) -> TrainResult:
    """Nothing is left to do, but perhaps to clear up what a kill at the very end left."""
    if folder is not None:
        folder.clear()
    listen(Note(f"the run in {path} is already finished"))
    run = Run.open(path)
    return TrainResult(path, run.metrics, run.model(device or "auto"))


def _read(spec: RunSpec, recipe: Recipe, listen: Listener) -> Job:
    listen(Stage("reading"))
    base = base_run(spec.model, spec.model_name)
    needs = needs_of(recipe, open=spec.recipe.name == DEFAULT_RECIPE)
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base, needs=needs)
    prepared.tell(listen)
    return Job(spec, recipe, base, prepared)


def _read_again(path: Path, manifest: dict[str, Any], device: str | None, listen: Listener) -> Job:
    """The job of a run that was begun; data that have changed since are refused."""
    try:
        spec = spec_from_json(manifest["resume"]["request"], path)
        toml, sha256, name = manifest["resume"]["recipe"], manifest["data"]["sha256"], manifest["recipe"]
    except (KeyError, TypeError) as error:
        raise RunError(f"the run in '{path}' cannot be resumed: its manifest is damaged ({error})") from error
    if device is not None:
        spec = spec.replace(device=device)
    recipe = parse_recipe(toml, name=name, where=f"{path}/recipe.toml")
    job = replace(_read(spec, recipe, listen), resumed=True)
    if job.prepared.sha256 != sha256:
        raise DataError(
            f"the data of the run in '{path}' have changed since it began; put them back, or train again with "
            "--overwrite"
        )
    for package, now in versions().items():
        then = manifest.get("versions", {}).get(package)
        if then != now:
            told = f"{package} was {then} when the run began and is {now} now: the last digits may come out otherwise"
            listen(Note(told, warning=True))
    return job


def _carry_out(folder: RunFolder, job: Job, stop: Stop, listen: Listener, report: Reporter | None) -> TrainResult:
    """Everything behind the beginning; whatever is cut short here is done again when the run is resumed."""
    write_text(folder.path / "recipe.toml", job.recipe.to_toml())
    write_hygiene(folder.path, job.prepared.hygiene)
    result, fitted = _fit(job, folder.path, stop, listen)
    listen(Stage("saving"))
    facts = _save(folder.path, job, fitted)
    finished = FinishedRun(folder.path, job.recipe, job.prepared, fitted, folder.facts | facts)
    _report(finished, report if job.spec.output.report else None, listen)
    folder.finish(facts)
    return result


def _fit(job: Job, path: Path, stop: Stop, listen: Listener) -> tuple[TrainResult, FitResult]:
    listen(Stage("starting torch"))
    from phasefit.runs.execution import fit_prepared
    from phasefit.runs.fitting.checkpointer import Checkpointer
    from phasefit.training.checkpoints import read_checkpoint

    # A new run looks at none: another process may not yet have set aside the run that it replaces.
    checkpoint, damaged = read_checkpoint(path) if job.resumed else (None, [])
    for note in damaged:
        listen(Note(note, warning=True))
    if job.resumed and checkpoint is None:
        listen(Note("there is no checkpoint yet: it starts from the beginning"))
    how: dict[str, Any] = {"minutes": job.spec.machine.checkpoint_minutes, "keep_phases": job.spec.output.keep_phases}
    checkpointer = Checkpointer(path, stop, checkpoint=checkpoint, **how)
    fitted = fit_prepared(
        job.spec, job.recipe, job.prepared, listen, folder=str(path / "track"), checkpointer=checkpointer
    )
    return TrainResult(path, fitted.metrics, fitted.model), fitted


def _save(path: Path, job: Job, fitted: FitResult) -> dict[str, Any]:
    """The model, its metrics and history; the manifest, which makes them valid, comes last and is the caller's."""
    from phasefit.models.storage import write_model

    model = fitted.model
    facts: dict[str, Any] = {"model": model.encoder.name, "threads": fitted.threads, "device": str(model.device)}
    facts["max_length"] = model.encoder.max_length
    if job.base is not None:
        facts["went_on_from"] = job.base.name
    elif job.spec.model is not None and (Path(job.spec.model).expanduser() / MANIFEST).is_file():
        facts["went_on_from"] = job.spec.model_name or str(job.spec.model)  # a run without a classifier
    facts |= write_model(model, path)
    trained = merged(job.prepared) if job.spec.recipe.refit else job.prepared
    rows = [table.same for table in trained.trained_tables if table.others]
    write_seen(path, trained.trained_texts, None if job.base is None else job.base.seen, rows)
    write_hygiene(path, job.prepared.hygiene, fitted.fitted.cut)
    write_json(path / "metrics.json", fitted.metrics)
    write_json(path / "history.json", fitted.fitted.history.rows)
    return facts


def _report(finished: FinishedRun, report: Reporter | None, listen: Listener) -> None:
    """Pictures and card; a model is not held up by a picture that cannot be drawn."""
    if report is None:
        return
    try:
        report(finished)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a plotting library may raise
        what = f"{type(error).__name__}: {error}"
        listen(Note(f"the report could not be written ({what}); the model is complete", warning=True))


def _refuse_in_place(spec: RunSpec) -> None:
    if spec.model is None or not Path(spec.model).expanduser().exists():
        return
    model, out = Path(spec.model).expanduser().resolve(), Path(str(spec.output.folder)).resolve()
    if out in (model, *model.parents):
        raise RunError(
            f"{spec.output.folder} is the run to go on from and cannot be replaced by it; give another folder with -o"
        )
