"""What every view promises."""

from __future__ import annotations

from typing import ClassVar

import numpy as np


class View:
    """Another look at a text with the same meaning. Subclasses are frozen dataclasses: fields are a recipe's options.

    The result follows from the text and the generator's state alone; what a view does not speak of stays as it is.
    """

    name: ClassVar[str]
    changes_text: ClassVar[bool] = True
    needs_mask: ClassVar[bool] = False
    """Whether it writes the tokenizer's mask token."""

    def check(self) -> None:
        """Read the files it needs; a DataError says what is wrong with them."""

    def notes(self) -> list[str]:
        """Sentences worth telling before training starts."""
        return []

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """The text as it looks in this view; `mask` is the tokenizer's mask token."""
        return text
