"""What explanations consist of, and their JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

Row: TypeAlias = str | tuple[str, str]
"""A text, or a pair of texts."""

Unit: TypeAlias = Literal["log-odds", "score"]
DIGITS = 6  # significant digits in JSON


@dataclass(frozen=True)
class Word:
    """A word, its place in the text, and its weight.

    A positive weight supports the label (or raises the score), a negative one opposes it. `weight` is None if the
    model did not read the word because the text is too long. `side` is 1 in the second text of a pair.
    """

    start: int
    end: int
    text: str
    weight: float | None
    side: int = 0


@dataclass(frozen=True)
class Explanation:
    """The words that mattered for one output of one text."""

    row: int  # the position of the text among those that were explained; several labels give several explanations
    text: Row
    task: str
    label: str | None  # the explained label; None for a score
    prediction: tuple[str, ...]  # the predicted labels or the score; empty if the model gives none
    probability: float | None  # of the explained label; None for a score
    score: float | None
    words: tuple[Word, ...]
    method: str  # "gradients" or "occlusion"
    unit: Unit  # of the weights
    notes: tuple[str, ...] = ()  # what limits this explanation

    @property
    def sides(self) -> tuple[str, ...]:
        """The text, or both texts of a pair."""
        return (self.text,) if isinstance(self.text, str) else self.text

    @property
    def read(self) -> tuple[Word, ...]:
        """The words that the model read, which are those with a weight."""
        return tuple(word for word in self.words if word.weight is not None)

    @property
    def strongest(self) -> tuple[Word, ...]:
        """The words with a weight, the largest first regardless of its sign; ties in the order of the text."""
        return tuple(sorted(self.read, key=lambda word: -abs(word.weight or 0.0)))

    def _repr_html_(self) -> str:
        """The coloured words in a notebook."""
        from phasefit.explain.html import explanation_html

        return explanation_html(self)


SMALL = 0.01  # smaller changes are shown with more digits


@dataclass(frozen=True)
class DeletionTest:
    """How far the output moves when the most important words are deleted, compared with random words."""

    explanations: int  # that were tested: those with at least two words
    words: int  # that were deleted from each text; fewer from a text with fewer words
    important: float  # the mean change after deleting the most important words
    random: float  # the mean change after deleting as many random words
    error: float  # the standard error of `random`, since only some words are drawn
    unit: Literal["probability", "score"]

    @property
    def better(self) -> bool:
        """Whether these words are better than random ones, by more than the draws explain."""
        return self.explanations > 0 and self.important - self.random > 2 * self.error

    @property
    def sentence(self) -> str:
        """The test for people."""
        if not self.explanations:
            return "the words could not be tested by deleting some: no text has two words or more"
        many = f"the {self.words} most important words" if self.words > 1 else "the most important word"
        verb = "lowers the probability" if self.unit == "probability" else "changes the score"
        digits = 2 if max(abs(self.important), abs(self.random)) >= SMALL else 4
        few = f"{'random words' if self.words > 1 else 'a random word'} by {self.random:.{digits}f}"
        mean = " on average" * (self.explanations > 1)
        sentence = f"deleting {many} {verb} by {self.important:.{digits}f}{mean}, {few}"
        return sentence if self.better else f"{sentence}: not clearly better than random, so do not rely on these words"


@dataclass(frozen=True)
class Neighbour:
    """A training text, its label, and the cosine of its embedding with that of the explained text."""

    text: Row
    label: str
    similarity: float


def to_json(value: Any) -> Any:
    """Explanations, tests, neighbours, or lists and dictionaries of them, as plain JSON with rounded numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        content = {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, DeletionTest):
            content |= {"better": value.better, "sentence": value.sentence}
        return content
    if isinstance(value, dict):
        return {str(name): to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
