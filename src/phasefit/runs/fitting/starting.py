"""The model a run starts from. Imports torch only to load it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.errors import PhasefitError
from phasefit.models.device import check_device
from phasefit.models.encoder import locate
from phasefit.prepare.base import Base
from phasefit.recipes.recipe import TFIDF, Recipe
from phasefit.runs.run import Run
from phasefit.runs.specification import RunSpec

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.prepare.prepare import Prepared


def base_run(model: str | None, name: str | None = None) -> Base | None:
    """The run to continue from; None for a plain encoder or a run without a classifier."""
    if model is None:
        return None
    run = Run.open_model(model)
    run.check_encoder()
    if run.is_encoder:
        locate.check_local(model)
    return run.base(name)


def check_start(spec: RunSpec, recipe: Recipe) -> None:
    """Raise, before a run folder is created, if the device or the model is missing; a hub model is downloaded."""
    check_device(spec.machine.device)
    if recipe.baseline == TFIDF:
        return
    name = locate.DEFAULT_MODEL if spec.model is None else spec.model
    if Run.open_model(name).is_encoder:
        locate.locate(name)


def starting_model(spec: RunSpec, prepared: Prepared) -> Model:
    """The model; if it continues from a run, its label spaces include the new classes.

    Heads of tasks that are not trained here are removed: the encoder changes, so they would no longer fit.
    """
    from phasefit.models.model import TASK
    from phasefit.models.storage import load_model

    model = load_model(locate.DEFAULT_MODEL if spec.model is None else spec.model, "cpu")
    if spec.model_name is not None and model.encoder.name == spec.model:
        model.encoder.name = spec.model_name
    spaces = {name: task.space for name, task in prepared.tasks.items()}
    if not spaces and len(model.heads) == 1:
        name, head = next(iter(model.heads.items()))
        del model.heads[name]
        model.heads[TASK] = head  # a task file may have given it another name
        spaces = {TASK: prepared.space}
    for task in list(model.heads):
        if task not in spaces:
            del model.heads[task]
    model.spaces = {task: spaces[task] for task in model.heads}
    model.decisions.clear()  # they are chosen again for the new head
    _prepare_layers(model, spec)
    return model


def _prepare_layers(model: Model, spec: RunSpec) -> None:
    """Make the layers train as the machine's options ask for."""
    from phasefit.models.device import pick_device

    if spec.machine.precision == "bf16" and pick_device(spec.machine.device).type == "cpu":
        from phasefit.models.encoder.products import train_in_bfloat16

        if spec.machine.compile:
            raise PhasefitError("--precision bf16 on a CPU cannot be combined with --compile; remove one of them")
        train_in_bfloat16(model.encoder.transformer)
    if spec.machine.compile:
        from phasefit.models.encoder.compiled import compile_layers

        compile_layers(model.encoder)
