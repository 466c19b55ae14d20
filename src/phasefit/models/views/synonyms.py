"""The view `synonyms`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from phasefit.models.views.contract import View
from phasefit.models.views.synonym_table import read_synonyms
from phasefit.models.views.words import core, words_of


@dataclass(frozen=True)
class Synonyms(View):
    """Each word that `table` knows gives way, with probability `ratio`, to one of its synonyms, picked at random.

    A capital at its beginning, whitespace and punctuation stay. `table` is a CSV file (or TSV, by its ending). Each
    line is a group of words that can stand for each other, such as `rain,shower,drizzle`; or, under the header
    `word,synonym`, a word and what may replace it, and not the other way round. A word is looked up in any case, a
    synonym may be several words.
    """

    table: str
    ratio: Annotated[float, Field(ge=0, le=1)] = 0.3

    name: ClassVar[str] = "synonyms"

    @cached_property
    def _known(self) -> dict[str, tuple[str, ...]]:
        return read_synonyms(Path(self.table))

    def check(self) -> None:
        """Read the table."""
        _ = self._known

    def notes(self) -> list[str]:
        """How much the table knows."""
        words = f"{len(self._known):,} word{'s' * (len(self._known) > 1)}"
        return [f"'{self.table}' has synonyms for {words}"]

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """The text with some of its words said otherwise."""
        words = words_of(text)
        tail = text[sum(map(len, words)) :]
        draw, pick = random.random((2, len(words)))
        for place in np.flatnonzero(draw < self.ratio).tolist():
            before, word, behind = core(words[place])
            choices = self._known.get(word.casefold(), ())
            if choices:
                chosen = choices[int(pick[place] * len(choices))]
                words[place] = before + _cased_like(word, chosen) + behind
        return "".join(words) + tail


def _cased_like(word: str, chosen: str) -> str:
    return chosen[:1].upper() + chosen[1:] if word[:1].isupper() else chosen
