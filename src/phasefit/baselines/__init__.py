"""Yardsticks: simple or foreign ways to the same predictions, which a study takes like any recipe.

A baseline is one file here and one line below. It sees what a recipe sees (the same rows, the same labels) and gives
what a head gives: probabilities, or scores. Nothing is imported before it is used. May import prepare and what stands
left of it: data, metrics, kinds, models, phases, recipes, training.
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
    """The baseline of that name."""
    return BASELINES.get(name)
