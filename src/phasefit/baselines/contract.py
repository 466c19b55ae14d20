"""The interface of a baseline."""

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
    """Options of fitting, in addition to the rows."""

    seed: int = 0
    model: str | None = None  # the encoder; None: the default model
    device: str = "auto"
    precision: str = "auto"


class Baseline(Protocol):
    """Fits the training rows and returns a function that predicts a table: (n, classes), or (n, 1) for scores."""

    title: str
    """A short description for lists."""

    def check(self) -> None:
        """Raise, before training, if the baseline cannot run, e.g. because a library is missing."""
        return

    def check_rows(self, prepared: Prepared) -> None:
        """Raise, before training, if the baseline does not support these rows."""
        return

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Fit the training rows; validation rows may be used for model selection."""
