"""Phases: what one training step is. A phase owns no loop, no optimiser and no logging.

A kind of phase is its options (what a recipe may say; they import no torch), which name the class of the step, and a
line below. Options answer for themselves: what they need of the rows, which files they read, what must precede them,
whether they train a head. Phases may import errors, registry, seeds, data, metrics, objectives, kinds and models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.phases.options import PhaseOptions
from phasefit.registry import Registry

if TYPE_CHECKING:
    from phasefit.phases.contract import Phase

PHASES: Registry[type[PhaseOptions]] = Registry(
    "kind of phase",
    "phasefit.phases",
    base=PhaseOptions,
    entries={
        "denoise": "phasefit.phases.denoise.options:Options",
        "contrast": "phasefit.phases.contrast.options:Options",
        "joint": "phasefit.phases.joint.options:Options",
        "simcse": "phasefit.phases.in_batch_negatives.options:SimCSEOptions",
        "mirror": "phasefit.phases.in_batch_negatives.options:MirrorOptions",
        "mnr": "phasefit.phases.in_batch_negatives.options:MNROptions",
        "cosine": "phasefit.phases.cosine.options:Options",
        "finetune": "phasefit.phases.finetune.options:Options",
        "multitask": "phasefit.phases.multitask.options:Options",
    },
)


def options_of(kind: str) -> type[PhaseOptions]:
    """The options class of a kind of phase; imports no torch."""
    return PHASES.get(kind)


def phase_of(kind: str) -> type[Phase]:
    """The phase class of a kind."""
    return PHASES.get(kind).phase_class()
