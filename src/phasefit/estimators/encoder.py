"""TextEncoder: vectors for texts, learned from texts alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.estimators.base import TextEstimator
from phasefit.estimators.inputs import as_labels, as_rows
from phasefit.parameter_names import python_errors

if TYPE_CHECKING:
    from phasefit.data.table import Label
    from phasefit.events import Event


class TextEncoder(TextEstimator):
    """A sentence encoder trained in phases on texts, or on pairs or triples of texts, without labels.

    Parameters
    ----------
    recipe
        A packaged recipe or the path of a recipe file.
    model
        The pretrained encoder: a hub id, a folder, or a run to continue from. None is the default model.
    settings
        Options of the recipe to change, for example `{"simcse.epochs": 4}`.
    validation_size
        The share of rows that is held out to choose the best weights when `fit` gets no validation rows.
    seed
        Every random choice of the training follows from it.
    device
        "auto", "cpu", "cuda", "cuda:1" or "mps".
    precision
        "auto" (bfloat16 on GPUs that have it), "no", "bf16" or "fp16".
    batch_size
        Texts per batch in prediction; the batch size of training is an option of each phase.
    listener
        A function that receives every event of the training: notes, steps, scores.

    Attributes
    ----------
    model_
        The trained model.
    history_, phases_
        The losses and scores of every step, and a summary of each phase.
    """

    _predicts = False

    def __init__(
        self,
        recipe: str = "simcse",
        *,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        validation_size: float = 0.2,
        seed: int = 0,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 64,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self.recipe = recipe
        self.model = model
        self.settings = settings
        self.validation_size = validation_size
        self.seed = seed
        self.device = device
        self.precision = precision
        self.batch_size = batch_size  # of `transform`; training's is an option of each phase
        self.listener = listener

    @python_errors
    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Label] | None = None,
        *,
        unlabelled: Sequence[str] | None = None,
        validation: Any = None,
    ) -> TextEncoder:
        """Train on texts, or on (anchor, positive) or (anchor, positive, negative) tuples, as the recipe needs.

        Labels of texts, if there are any, only watch: a linear probe chooses the best weights. Then `validation` is
        (texts, labels), else rows like those of X.
        """
        if y is None:
            self._train((as_rows(X), None), None if validation is None else (as_rows(validation), None), unlabelled)
        else:
            scored = None if validation is None else (as_rows(validation[0]), as_labels(validation[1]))
            self._train((as_rows(X), as_labels(y)), scored, unlabelled)
        return self

    @python_errors
    def fit_transform(self, X: Sequence[Any], y: Sequence[Label] | None = None, **options: Any) -> np.ndarray:
        """Fit, then the embeddings of the texts; of pairs and triples, of the first of each."""
        rows = as_rows(X)
        return self.fit(rows, y, **options).transform([row[0] if isinstance(row, tuple) else row for row in rows])
