"""Phases: each defines one kind of training step. A phase owns no loop, no optimiser and no logging.

To add a kind of phase, write its options (without importing torch), let them name the class of the step, and add a line
below. The options describe themselves: what the rows must have, which files are read, which phases must come first,
whether a head is trained. May import errors, seeds, events, files, registry, data, metrics, objectives, kinds and
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
        "self-train": "phasefit.phases.self_train.options:Options",
        "multitask": "phasefit.phases.multitask.options:Options",
    },
)
