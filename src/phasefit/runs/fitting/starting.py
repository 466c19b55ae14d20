"""The model a run starts from. Imports torch only when the model itself is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.models.encoder.locate import check_local
from phasefit.prepare.base import Base
from phasefit.runs.run import Run
from phasefit.runs.specification import RunSpec

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.prepare.prepare import Prepared


def base_run(model: str | None, name: str | None = None) -> Base | None:
    """A run to go on from; None for anything else, or for a run without a classifier."""
    if model is None:
        return None
    run = Run.open_model(model)
    if run.is_encoder:
        check_local(model)
    return run.base(name)


def starting_model(spec: RunSpec, prepared: Prepared) -> Model:
    """The model, which already knows the classes it will need if it goes on from a run.

    Heads of tasks that are not trained here would stay as they are while the encoder under them changes: they go.
    """
    from phasefit.models.encoder.locate import DEFAULT_MODEL
    from phasefit.models.model import TASK
    from phasefit.models.storage import load_model

    model = load_model(DEFAULT_MODEL if spec.model is None else spec.model, "cpu")
    if spec.model_name is not None and model.encoder.name == spec.model:
        model.encoder.name = spec.model_name
    wanted = {name: task.space for name, task in prepared.tasks.items()}
    if not wanted and len(model.heads) == 1:
        name, head = next(iter(model.heads.items()))
        del model.heads[name]
        model.heads[TASK] = head  # by whatever name a task file called it
        wanted = {TASK: prepared.space}
    for task in list(model.heads):
        if task not in wanted:
            del model.heads[task]
    model.spaces = {task: wanted[task] for task in model.heads}
    model.decisions.clear()  # they are chosen anew, for the head as it will be
    if spec.machine.compile:
        from phasefit.models.encoder.compiled import compile_layers

        compile_layers(model.encoder)
    return model
