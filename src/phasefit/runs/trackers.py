"""Which experiment trackers there are, and whether one can be used here. Imports no torch."""

from __future__ import annotations

from importlib.util import find_spec

from phasefit.errors import MissingExtra, PhasefitError, did_you_mean

TRACKERS = {"tensorboard": "tensorboard", "wandb": "wandb", "mlflow": "mlflow"}


def check_tracker(name: str | None) -> None:
    """Refuse an unknown or missing tracker before anything is trained."""
    if name is None:
        return
    if name not in TRACKERS:
        raise PhasefitError(f"--track {name}: unknown tracker; {did_you_mean(name, TRACKERS)}")
    if find_spec(TRACKERS[name]) is None:
        raise MissingExtra(f"--track {name}: {name} is not installed; pip install {TRACKERS[name]}")
