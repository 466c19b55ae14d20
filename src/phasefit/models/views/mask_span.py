"""The view `mask-span`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from phasefit.models.views.contract import View


@dataclass(frozen=True)
class MaskSpan(View):
    """Replaces one random span of `characters` by the mask token (Liu et al., Mirror-BERT, EMNLP 2021).

    Texts shorter than `min_characters`, or not longer than the span, stay unchanged: too little of them would remain.
    """

    characters: Annotated[int, Field(ge=1)] = 5
    min_characters: Annotated[int, Field(ge=0)] = 30

    name: ClassVar[str] = "mask-span"
    needs_mask: ClassVar[bool] = True

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """Masks the span at the sampled position, even if its characters also occur elsewhere."""
        room = len(text) - self.characters
        if len(text) < self.min_characters or room < 1:
            return text
        begin = int(random.integers(room + 1))
        return text[:begin] + mask + text[begin + self.characters :]
