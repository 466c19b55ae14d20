"""The views `delete-words` and `delete-stop-words`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from phasefit.data.stop_words import stop_words
from phasefit.models.views.contract import View
from phasefit.models.views.words import core, without, words_of


@dataclass(frozen=True)
class DeleteWords(View):
    """Deletes each word with probability `ratio`; one random word always stays."""

    ratio: Annotated[float, Field(ge=0, lt=1)] = 0.1

    name: ClassVar[str] = "delete-words"

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """A subsequence of the words."""
        draw = random.random(len(words_of(text)))
        hit = draw < self.ratio
        if len(hit) and hit.all():
            hit[draw.argmax()] = False  # the word with the highest draw: uniform among all
        return without(text, hit)


@dataclass(frozen=True)
class DeleteStopWords(View):
    """Deletes each stop word with probability `ratio`; one word of the text always stays.

    `words` is the packaged list "english", or a file with one word per line.
    """

    ratio: Annotated[float, Field(ge=0, le=1)] = 0.5
    words: str = "english"

    name: ClassVar[str] = "delete-stop-words"

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return stop_words(self.words)

    def check(self) -> None:
        """Read the list."""
        _ = self._stop_words

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """The text without some of its stop words."""
        words = words_of(text)
        draw = random.random(len(words))
        stop = np.array([core(word)[1].casefold() in self._stop_words for word in words], dtype=bool)
        hit = stop & (draw < self.ratio)
        if len(hit) and hit.all():
            hit[draw.argmax()] = False
        return without(text, hit)
