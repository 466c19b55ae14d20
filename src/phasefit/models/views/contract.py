"""The interface of views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np


class View:
    """An augmented version of a text with the same meaning. Subclasses are frozen dataclasses of recipe options.

    The result depends only on the text and the state of the generator; a view changes nothing but what it documents.
    """

    name: ClassVar[str]
    changes_text: ClassVar[bool] = True
    needs_mask: ClassVar[bool] = False
    """Whether it inserts the tokenizer's mask token."""

    def check(self) -> None:
        """Read the files that the view needs; raises a DataError if one is invalid."""

    def notes(self) -> list[str]:
        """Notes to print before training starts."""
        return []

    def text_notes(self, texts: Sequence[str]) -> list[str]:
        """Notes about the training texts to print before training starts."""
        return []

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """The augmented text; `mask` is the tokenizer's mask token."""
        return text
