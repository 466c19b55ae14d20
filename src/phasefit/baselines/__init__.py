"""Yardsticks: simple or foreign ways to the same predictions, which a study takes like any recipe.

A baseline is one file here and one line below. It sees what a recipe sees (the same rows, the same labels) and gives
what a head gives: probabilities, or scores. Nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phasefit.baselines.contract import Baseline

BASELINES: dict[str, str] = {
    "majority": "the most frequent class, or the mean score, whatever the text",
    "tfidf": "TF-IDF of words and pairs of words, then logistic regression (scikit-learn)",
    "frozen": "the encoder as it is, then logistic regression (scikit-learn)",
    "setfit": "SetFit as its own quick start has it, where it is installed",
    "untrained": "the encoder as it is, for studies of encoders",
}


def baseline(name: str) -> Baseline:
    """The baseline of that name."""
    found: Baseline = import_module(f"phasefit.baselines.{name}").BASELINE
    return found
