"""The interface of a baseline."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from phasefit.data.table import Table
from phasefit.errors import TextsCut
from phasefit.prepare.prepare import Prepared

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.models.predictor import Predictor

Predict = Callable[[Table], np.ndarray]


@dataclass(frozen=True)
class FitOptions:
    """Options of fitting, in addition to the rows."""

    seed: int = 0
    model: str | None = None  # the encoder; None: the default model
    device: str = "auto"
    precision: str = "auto"
    set_up: Callable[[Model], None] | None = None  # changes the encoder before it is used, e.g. its maximum length


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


class SavableBaseline(Baseline, Protocol):
    """A baseline whose result is a model that predicts, is saved and is loaded like any other."""

    def fit_model(self, prepared: Prepared, options: FitOptions) -> Predictor:
        """The model, fitted on the training rows."""

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """The predictions of the model."""
        return predictions_of(self.fit_model(prepared, options))


def predictions_of(model: Predictor) -> Predict:
    """A function that predicts a table, without warnings about long texts."""

    def predict(table: Table) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TextsCut)
            return model.predict_outputs(table.inputs)

    return predict
