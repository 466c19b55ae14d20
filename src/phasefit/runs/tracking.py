"""Experiment trackers, through Accelerate: TensorBoard, Weights & Biases, MLflow. Off by default. No torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from phasefit.errors import MissingExtra, PhasefitError, did_you_mean
from phasefit.events import Event, Scored, StepDone
from phasefit.runs.specification import RunSpec

if TYPE_CHECKING:
    from accelerate import Accelerator

    from phasefit.events import Listener

TRACKERS = {"tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow"}


def check_tracker(name: str | None) -> None:
    """Refuse an unknown or missing tracker before anything is trained."""
    if name is None:
        return
    if name not in TRACKERS:
        raise PhasefitError(f"--track {name}: unknown tracker; {did_you_mean(name, TRACKERS)}")
    if find_spec(TRACKERS[name]) is None:
        raise MissingExtra(f"--track {name}: {name} is not installed; run: pip install {TRACKERS[name]}")


@contextmanager
def tracked(
    accelerator: Accelerator, spec: RunSpec, recipe: str, listen: Listener, total: int = 0
) -> Iterator[Listener]:
    """A listener that also logs to the tracker; steps are counted across phases, starting after `total`."""
    if spec.machine.track is None:
        yield listen
        return
    config = {"recipe": recipe, "seed": spec.seed, "model": spec.model or "default"}
    accelerator.init_trackers("phasefit", config=config)

    def track(event: Event) -> None:
        nonlocal total
        if isinstance(event, StepDone):
            total += 1
            values = {"loss": event.loss, "lr": event.lr, **event.scalars}
            accelerator.log({f"{event.phase}/{name}": value for name, value in values.items()}, step=total)
        elif isinstance(event, Scored):
            accelerator.log({f"{event.phase}/{name}": value for name, value in event.scores.items()}, step=total)
        listen(event)

    try:
        yield track
    finally:
        for tracker in accelerator.trackers:  # `end_training` would also end the exchange with other processes
            tracker.finish()
