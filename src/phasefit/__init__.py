"""phasefit: text classifiers and sentence encoders trained in phases.

Importing phasefit is cheap: torch is imported with the first name that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from phasefit.errors import (
    DataError,
    Interrupted,
    LabelError,
    MissingExtra,
    ModelError,
    PhasefitError,
    PhasefitWarning,
    PluginError,
    RecipeError,
    RunError,
    TextsCut,
    TrainingError,
)

if TYPE_CHECKING:
    from phasefit.estimators import TextClassifier, TextEncoder, TextRegressor, TextTasks
    from phasefit.estimators.functions import load, read_table, resume, train
    from phasefit.recipes import Recipe

__all__ = [
    "DataError",
    "Interrupted",
    "LabelError",
    "MissingExtra",
    "ModelError",
    "PhasefitError",
    "PhasefitWarning",
    "PluginError",
    "Recipe",
    "RecipeError",
    "RunError",
    "TextClassifier",
    "TextEncoder",
    "TextRegressor",
    "TextTasks",
    "TextsCut",
    "TrainingError",
    "__version__",
    "load",
    "read_table",
    "resume",
    "train",
]

__version__ = "0.1.0"

_LAZY = {
    **dict.fromkeys(("TextClassifier", "TextEncoder", "TextRegressor", "TextTasks"), "phasefit.estimators"),
    **dict.fromkeys(("load", "read_table", "resume", "train"), "phasefit.estimators.functions"),
    "Recipe": "phasefit.recipes",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'phasefit' has no attribute '{name}'")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
