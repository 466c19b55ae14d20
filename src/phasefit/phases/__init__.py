"""Phases: what one training step is. A phase owns no loop, no optimiser and no logging.

A kind of phase is its options (what a recipe may say; they import no torch), which name the class of the step, and a
line below. Options answer for themselves: what they need of the rows, which files they read, what must precede them,
whether they train a head. May import errors, seeds, events, files, registry, data, metrics, objectives, kinds and
models.
"""

from __future__ import annotations

from phasefit.phases.options import PhaseOptions
from phasefit.registry import Registry

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
