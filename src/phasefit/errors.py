"""Every error phasefit raises on purpose; the command line prints its one sentence and exits with 2.

PhasefitError
├── DataError          a file, a column or a text is not what it should be
│   └── LabelError     a label is missing, unknown or of a kind that is not handled
├── RecipeError        a recipe or an option is wrong; the message starts with where it is
├── ModelError         an encoder or a saved model cannot be found, trusted or read
├── RunError           a run folder exists, is unfinished or cannot be written
├── TrainingError      training itself went wrong (a loss that is not a number)
├── PluginError        another package registers something that cannot be loaded, or a name that is taken
└── MissingExtra       an optional library is not installed; the message says which extra brings it
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "DataError",
    "Interrupted",
    "LabelError",
    "MissingExtra",
    "ModelError",
    "PhasefitError",
    "PluginError",
    "RecipeError",
    "RunError",
    "TextsCut",
    "TrainingError",
    "did_you_mean",
]


class PhasefitError(Exception):
    """Base of all: one sentence that says what, where, and what to do."""


class DataError(PhasefitError, ValueError):
    """A table cannot be read or used as it is."""


class LabelError(DataError):
    """A label is missing, unknown, or of a kind that is not handled."""


class RecipeError(PhasefitError, ValueError):
    """A recipe or an option is wrong; the message starts with where it is."""


class ModelError(PhasefitError, ValueError):
    """An encoder or a saved model cannot be found, trusted or read."""


class RunError(PhasefitError, OSError):
    """A run folder exists already, is unfinished, or cannot be written."""


class TrainingError(PhasefitError, RuntimeError):
    """Training went wrong in a way that no retry mends."""


class PluginError(PhasefitError, ImportError):
    """Another package registers something that cannot be loaded, or a name that is taken."""


class MissingExtra(PhasefitError, ImportError):  # noqa: N818 - what is missing, not what went wrong
    """An optional library is missing."""


class Interrupted(KeyboardInterrupt):
    """Control-C, or the system's wish that the process ends; says what is left behind."""

    def __init__(self, left: str = "", signal: int = 2) -> None:
        super().__init__(left)
        self.signal = signal


class TextsCut(UserWarning):
    """Some texts are longer than the model takes; the rest of them was not read."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The tail of an error about an unknown name: the nearest one, or all of them."""
    known = sorted(str(item) for item in known)
    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known) or 'none'}"
