"""What the sides of a row are: the contract between a phase and where its sides come from."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from phasefit.phases.contract import Batch, Encoded

ANCHOR, POSITIVE, NEGATIVE = "anchor", "positive", "negative"


class Sides(Protocol):
    """Rows to train on and how each becomes vectors, one per side."""

    names: tuple[str, ...]
    """Which sides there are: "anchor", "positive" and perhaps "negative"."""
    rows: np.ndarray
    validation: np.ndarray
    lengths: np.ndarray
    """Tokens of each training row, of its longest side."""
    noisy: bool
    """Whether the noise of training mode is part of what makes the sides differ."""
    alike: bool
    """Whether nothing else makes them differ."""

    def encode(self, batch: Batch) -> Encoded:
        """The sides' vectors, one for each row of the draw."""
        ...

    def notes(self) -> list[str]:
        """Sentences worth telling before the phase starts."""
        ...
