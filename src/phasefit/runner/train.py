"""The main job: from a request to a finished run folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.labels import LabelSpace
from phasefit.errors import PhasefitError
from phasefit.recipes import Recipe, read_recipe
from phasefit.runner.prepare import Prepared, prepare
from phasefit.runner.request import TrainRequest
from phasefit.store.folder import RunFolder, check_free, next_folder
from phasefit.store.manifest import MANIFEST, read_json, write_text
from phasefit.training.events import Note, Stage

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.runner.fit import Fitted, Listener


@dataclass(frozen=True)
class TrainResult:
    """A finished run."""

    folder: Path
    metrics: dict[str, Any]
    model: Model


def train(request: TrainRequest, listen: Listener) -> TrainResult:
    """Read, split, train phase by phase, evaluate once on test, save, report."""
    recipe = read_recipe(request.recipe, request.settings)
    if request.out is not None:
        check_free(Path(request.out), overwrite=request.overwrite)
    listen(Stage("reading"))
    prepared = prepare(request, base_space(request.model))
    for note in prepared.notes:
        listen(Note(note))
    path = Path(request.out) if request.out is not None else next_folder(prepared.name)
    folder = RunFolder(path, overwrite=request.overwrite) if is_main_process() else None
    try:
        if folder is not None:
            folder.begin({"command": request.command, "seed": request.seed, "recipe": recipe.name, **prepared.facts()})
            write_text(path / "recipe.toml", recipe.to_toml())
        return _train(request, recipe, prepared, path, folder, listen)
    except PhasefitError:
        if folder is not None:
            folder.abandon()
        raise


def _train(
    request: TrainRequest, recipe: Recipe, prepared: Prepared, path: Path, folder: RunFolder | None, listen: Listener
) -> TrainResult:
    from phasefit.runner.fit import fit, go_on
    from phasefit.runner.report import write_report
    from phasefit.runner.tracking import tracked
    from phasefit.store import load_model
    from phasefit.store.models import write_model
    from phasefit.training.device import make_accelerator, set_threads

    threads = set_threads(request.threads)
    skips = any(getattr(options, "mix", "") == "alternate" for options in recipe.phases)
    accelerator = make_accelerator(
        request.device, request.precision, skips_parameters=skips, track=request.track, folder=str(path)
    )
    listen(Stage("loading the model"))
    source = request.model or ""
    model = load_model(source, "cpu") if source else _default_model()
    go_on(model, prepared.space)
    model.to(accelerator.device)
    with tracked(accelerator, request, listen) as told:
        fitted = fit(model, prepared, recipe, accelerator, seed=request.seed, listen=told)
    metrics = _evaluate(model, prepared, fitted, listen)
    if request.refit:
        model, metrics["refit"] = _refit(request, recipe, prepared, fitted, accelerator, listen)
    if folder is not None:
        listen(Stage("saving"))
        facts = {"model": model.encoder.name, "threads": threads, "max_length": model.encoder.max_length}
        saved = write_model(model, path)
        write_report(path, recipe, prepared, metrics, fitted.history, {**folder.facts, **facts})
        folder.finish({**facts, **saved})
    accelerator.wait_for_everyone()
    return TrainResult(path, metrics, model)


def _default_model() -> Model:
    from phasefit.models.encoder import load_encoder
    from phasefit.models.model import Model

    return Model(load_encoder())


def _evaluate(model: Model, prepared: Prepared, fitted: Fitted, listen: Listener) -> dict[str, Any]:
    """Validation chose the weights; test is looked at here, once."""
    from phasefit.runner.evaluate import evaluate

    metrics: dict[str, Any] = {}
    for split in ("validation", "test"):
        table = getattr(prepared, split)
        if table is not None and model.heads:
            listen(Stage(f"evaluating on {split}"))
            metrics[split] = evaluate(model, table)
    return {**metrics, "phases": fitted.phases}


def _refit(
    request: TrainRequest, recipe: Recipe, prepared: Prepared, fitted: Fitted, accelerator: Any, listen: Listener
) -> tuple[Model, dict[str, Any]]:
    """Train anew on all rows with the numbers of steps that validation chose; the metrics stay those from before."""
    from phasefit.runner.fit import fit, go_on
    from phasefit.runner.merge import merged
    from phasefit.store import load_model

    listen(Stage("refitting on all rows"))
    model = load_model(request.model, "cpu") if request.model else _default_model()
    go_on(model, prepared.space)
    model.to(accelerator.device)
    everything = merged(prepared)
    steps = {phase["name"]: phase["best_step"] for phase in fitted.phases}
    again = fit(model, everything, recipe, accelerator, seed=request.seed, listen=listen, fixed_steps=steps)
    return model, {"rows": len(everything.train), "phases": again.phases}


def base_space(model: str | None) -> LabelSpace | None:
    """The label space of a run to go on from; None for anything else. Imports no torch."""
    if model is None or not (Path(model).expanduser() / MANIFEST).is_file():
        return None
    saved = read_json(Path(model).expanduser() / "labels.json")
    return LabelSpace.from_json(next(iter(saved.values()))) if saved else None


def is_main_process() -> bool:
    """Whether this process writes files; known before torch is imported."""
    return os.environ.get("RANK", "0") == "0"
