"""The main job: from a request to a finished run folder. The folder is begun before torch is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import RunError
from phasefit.recipes import Recipe, read_recipe
from phasefit.runner.merge import merged
from phasefit.runner.prepare import Prepared, prepare
from phasefit.runner.processes import is_main_process
from phasefit.runner.request import TrainRequest
from phasefit.runner.splitting import Base
from phasefit.runner.starting import base_run
from phasefit.runner.trackers import check_tracker
from phasefit.store.folder import RunFolder, check_free, next_folder
from phasefit.store.manifest import write_json, write_text
from phasefit.store.seen import write_seen
from phasefit.training.events import Note, Stage

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.runner.fit import Listener
    from phasefit.runner.fit_request import FitResult


@dataclass(frozen=True)
class TrainResult:
    """A finished run."""

    folder: Path
    metrics: dict[str, Any]
    model: Model


def train(request: TrainRequest, listen: Listener) -> TrainResult:
    """Read, split, train phase by phase, evaluate once on test, save, report."""
    recipe = read_recipe(request.recipe, request.settings)
    check_tracker(request.track)
    if request.out is not None and is_main_process():
        check_free(Path(request.out), overwrite=request.overwrite)
        _refuse_in_place(request)
    listen(Stage("reading"))
    base = base_run(request.model)
    prepared = prepare(request, base)
    for note in prepared.notes:
        listen(Note(note))
    path = Path(request.out) if request.out is not None else next_folder(prepared.name)
    if not is_main_process():
        return _fit(request, recipe, prepared, path, listen)[0]
    folder = RunFolder(path, overwrite=request.overwrite)
    try:
        facts = {"command": request.command, "seed": request.seed, "recipe": recipe.name, "data": prepared.facts()}
        folder.begin(facts)
        write_text(path / "recipe.toml", recipe.to_toml())
        result, fitted = _fit(request, recipe, prepared, path, listen)
        listen(Stage("saving"))
        facts = _save(folder, prepared, base, fitted, refit=request.refit)
    except BaseException:  # Control-C too: an unfinished folder is of no use, and a replaced run comes back
        folder.abandon()
        raise
    _report(path, recipe, prepared, fitted, facts)  # the model is safe: what fails from here on takes nothing back
    return result


def _fit(
    request: TrainRequest, recipe: Recipe, prepared: Prepared, path: Path, listen: Listener
) -> tuple[TrainResult, FitResult]:
    listen(Stage("starting torch"))
    from phasefit.runner.fit_request import fit_prepared

    fitted = fit_prepared(request, recipe, prepared, listen, folder=str(path / "track"))
    return TrainResult(path, fitted.metrics, fitted.model), fitted


def _save(
    folder: RunFolder, prepared: Prepared, base: Base | None, fitted: FitResult, *, refit: bool
) -> dict[str, Any]:
    """The model, its metrics and history, and last the manifest, which makes them valid."""
    from phasefit.store.models import write_model

    model = fitted.model
    facts = {"model": model.encoder.name, "threads": fitted.threads, "max_length": model.encoder.max_length}
    if base is not None:
        facts["went_on_from"] = base.name
    saved = write_model(model, folder.path)
    trained = merged(prepared).train if refit else prepared.train
    write_seen(folder.path, trained.texts, None if base is None else base.seen)
    write_json(folder.path / "metrics.json", fitted.metrics)
    write_json(folder.path / "history.json", fitted.fitted.history.rows)
    return folder.finish({**facts, **saved})


def _report(path: Path, recipe: Recipe, prepared: Prepared, fitted: FitResult, facts: dict[str, Any]) -> None:
    from phasefit.runner.report import write_report

    write_report(path, recipe, prepared, fitted.metrics, fitted.fitted.history, facts)


def _refuse_in_place(request: TrainRequest) -> None:
    if request.model is not None and Path(request.model).expanduser().resolve() == Path(str(request.out)).resolve():
        raise RunError(
            f"{request.out} is the run to go on from and cannot be replaced by it; give another folder with -o"
        )
