"""The view `delete-words`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from phasefit.models.views.contract import View
from phasefit.models.views.words import without, words_of


@dataclass(frozen=True)
class DeleteWords(View):
    """Each word is deleted with probability `ratio`; one, picked at random, always stays."""

    ratio: Annotated[float, Field(ge=0, lt=1)] = 0.1

    name: ClassVar[str] = "delete-words"

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """A subsequence of the words."""
        draw = random.random(len(words_of(text)))
        hit = draw < self.ratio
        if len(hit) and hit.all():
            hit[draw.argmax()] = False  # the word least likely to be hit: uniform among all
        return without(text, hit)
