"""What a baseline promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from phasefit.data.table import Table
from phasefit.prepare.prepare import Prepared

Predict = Callable[[Table], np.ndarray]


@dataclass(frozen=True)
class FitOptions:
    """What a baseline may need besides the rows."""

    seed: int = 0
    model: str | None = None  # the encoder; None is the default model
    device: str = "auto"
    precision: str = "auto"


class Baseline(Protocol):
    """Fits the training rows of a job and gives what predicts any table: (n, classes) or, of scores, (n, 1)."""

    title: str
    """What it is, in a line, for lists."""

    def check(self) -> None:
        """Raise, before anything is trained, where it cannot run here; most run anywhere."""
        return

    def check_rows(self, prepared: Prepared) -> None:
        """Raise, before anything is trained, where it cannot learn from such rows; most take any."""
        return

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Learn from the training rows; validation rows are for those who must choose."""
