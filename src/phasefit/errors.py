"""The errors that phasefit raises; the command line prints the message and exits with code 2.

PhasefitError
├── DataError          a file, a column or a text is invalid
│   └── LabelError     a label is missing, unknown or of an unsupported kind
├── RecipeError        a recipe or an option is wrong; the message starts with its location
├── ModelError         an encoder or a saved model cannot be found, trusted or read
├── RunError           a run folder exists, is unfinished or cannot be written
│   └── LostProcess    another process of the run has ended
├── TrainingError      training failed (the loss is not a number)
├── PluginError        another package registers something that cannot be loaded, or a name that is taken
└── MissingExtra       an optional library is not installed; the message names the extra to install

PhasefitWarning        something worth checking; Python shows it with `warnings`
├── TextsCut           texts exceed the maximum length of the model
└── UnverifiedModel    a model folder has no checksums
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from phasefit.control_characters import message_line

__all__ = [
    "DataError",
    "Interrupted",
    "LabelError",
    "LostProcess",
    "MissingExtra",
    "ModelError",
    "PhasefitError",
    "PhasefitWarning",
    "PluginError",
    "RecipeError",
    "RunError",
    "TextsCut",
    "TrainingError",
    "UnverifiedModel",
    "did_you_mean",
]


class PhasefitError(Exception):
    """Base class: the message is one sentence with what is wrong, where, and what to do."""

    def __str__(self) -> str:
        """The message on one line; control characters in names that it quotes are escaped."""
        return message_line(super().__str__())


class DataError(PhasefitError, ValueError):
    """A table cannot be read or used."""


class LabelError(DataError):
    """A label is missing, unknown or of an unsupported kind."""


class RecipeError(PhasefitError, ValueError):
    """A recipe or an option is wrong; the message starts with its location."""


class ModelError(PhasefitError, ValueError):
    """An encoder or a saved model cannot be found, trusted or read."""


class RunError(PhasefitError, OSError):
    """A run folder exists already, is unfinished, or cannot be written."""


class LostProcess(RunError):  # noqa: N818 - named after what happened, like Interrupted
    """Another of the processes that train a run together has ended."""


class TrainingError(PhasefitError, RuntimeError):
    """Training failed in a way that a retry does not fix."""


class PluginError(PhasefitError, ImportError):
    """Another package registers something that cannot be loaded, or a name that is taken."""


class MissingExtra(PhasefitError, ImportError):  # noqa: N818 - named after what is missing
    """An optional library is not installed."""


class Interrupted(KeyboardInterrupt):
    """Control-C or a termination signal; the message describes what remains on disk."""

    def __init__(self, left: str = "", signal: int = 2) -> None:
        super().__init__(left)
        self.signal = signal


class PhasefitWarning(UserWarning):
    """Something worth checking about the data, the options or the machine."""


class TextsCut(PhasefitWarning):
    """Some texts exceed the model's maximum length and were truncated."""


class UnverifiedModel(PhasefitWarning):
    """A model folder has no checksums, because an earlier version wrote it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the closest known name, or all of them."""
    known = sorted(str(item) for item in known)
    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known) or 'none'}"


def constraint(message: str) -> str:
    """A message of pydantic about a wrong value in our words, e.g. "must be at least 1"."""
    message = message.removeprefix("Value error, ")
    for pattern, words in CONSTRAINTS:
        if match := re.fullmatch(pattern, message):
            return match.expand(words)
    return f"{message[:1].lower()}{message[1:]}"


CONSTRAINTS = (
    (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
    (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
    (r"Input should be greater than (\S+)", r"must be greater than \1"),
    (r"Input should be less than (\S+)", r"must be less than \1"),
    (r"Input should be a valid integer.*", "must be a whole number"),
    (r"Input should be a valid number.*", "must be a number"),
    (r"Input should be a valid boolean.*", "must be true or false"),
    (r"Input should be (.*)", r"must be \1"),
    (r"\S+ should have at least 1 item after validation, not 0", "must not be empty"),
)
