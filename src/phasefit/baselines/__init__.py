"""Baselines: simple models and other libraries that studies compare with recipes.

A baseline is one file here and one line below. It gets the same rows and labels as a recipe and returns what a head
returns: probabilities or scores. It is imported when it is used. May import prepare and the packages to its left: data,
metrics, kinds, models, phases, recipes, training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.registry import Registry

if TYPE_CHECKING:
    from phasefit.baselines.contract import Baseline

BASELINES: Registry[Baseline] = Registry(
    "baseline",
    "phasefit.baselines",
    entries={
        "majority": "phasefit.baselines.majority:BASELINE",
        "tfidf": "phasefit.baselines.tfidf:BASELINE",
        "frozen": "phasefit.baselines.frozen:BASELINE",
        "setfit": "phasefit.baselines.setfit:BASELINE",
        "untrained": "phasefit.baselines.untrained:BASELINE",
    },
)


def baseline(name: str) -> Baseline:
    """The baseline with this name."""
    return BASELINES.get(name)
