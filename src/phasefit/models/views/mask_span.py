"""The view `mask-span`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from phasefit.models.views.contract import View


@dataclass(frozen=True)
class MaskSpan(View):
    """ONE random span of `characters` gives way to the tokenizer's mask token (Liu et al., Mirror-BERT, EMNLP 2021).

    Texts under `min_characters` (or no longer than the span) are left alone: too little would be left of them.
    """

    characters: Annotated[int, Field(ge=1)] = 5
    min_characters: Annotated[int, Field(ge=0)] = 30

    name: ClassVar[str] = "mask-span"
    needs_mask: ClassVar[bool] = True

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """The span that is sampled is the span that is masked, wherever else its characters occur."""
        room = len(text) - self.characters
        if len(text) < self.min_characters or room < 1:
            return text
        begin = int(random.integers(room + 1))
        return text[:begin] + mask + text[begin + self.characters :]
