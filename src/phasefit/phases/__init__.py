"""Phases: what one training step is. A phase owns no loop, no optimiser and no logging.

Each kind is a folder with `options.py` (what a recipe may say; imports no torch) and `phase.py` (the step), and a line
below. Phases may import errors, data, metrics, objectives and models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from phasefit.errors import RecipeError, did_you_mean
from phasefit.phases.options import PhaseOptions

if TYPE_CHECKING:
    from phasefit.phases.contract import Phase

PHASES = (
    "denoise",
    "contrast",
    "joint",
    "simcse",
    "mirror",
    "mnr",
    "cosine",
    "finetune",
    "multitask",
)


def options_of(kind: str) -> type[PhaseOptions]:
    """The options class of a kind of phase; imports no torch."""
    if kind not in PHASES:
        raise RecipeError(f"unknown kind of phase '{kind}'; {did_you_mean(kind, PHASES)}")
    found: type[PhaseOptions] = import_module(f"phasefit.phases.{kind}.options").Options
    return found


def phase_of(kind: str) -> type[Phase]:
    """The phase class of a kind."""
    options_of(kind)
    found: type[Phase] = import_module(f"phasefit.phases.{kind}.phase").PHASE
    return found
