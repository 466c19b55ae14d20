"""TextEncoder: embeddings learned from texts without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.errors import RecipeError
from phasefit.estimators.base import TextEstimator
from phasefit.estimators.inputs import as_labels, as_rows
from phasefit.parameter_names import python_errors
from phasefit.recipes.recipe_files import is_baseline_recipe

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
        The pretrained encoder: a hub id, a folder, or a run to continue from. None uses the default model.
    settings
        Options of the recipe to change, for example `{"simcse.epochs": 4}`.
    validation_size
        The share of rows to hold out for choosing the best weights if `fit` gets no validation rows.
    seed
        The seed of every random choice in training.
    device
        "auto", "cpu", "cuda", "cuda:1" or "mps".
    precision
        "auto" (bfloat16 on GPUs that have it), "no", "bf16" or "fp16".
    batch_size
        Texts per batch in prediction. The training batch size is an option of each phase.
    listener
        A function that receives every event of training: notes, steps, scores.

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
        self.batch_size = batch_size  # for `transform`; each phase has its own for training
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
        """Train on texts, pairs or triples, depending on the recipe.

        Parameters
        ----------
        X
            Texts, or (anchor, positive) or (anchor, positive, negative) tuples.
        y
            Labels, which are never trained on: a linear probe on them chooses the best weights.
        unlabelled
            More texts, for the phases that need no labels.
        validation
            The validation rows: (X, y) if `y` is given, else X; None holds out `validation_size` of the rows.
        """
        if is_baseline_recipe(self.recipe):
            raise RecipeError(f"recipe '{self.recipe}' fits a classifier and trains no encoder; use TextClassifier")
        if y is None:
            self._train((as_rows(X), None), None if validation is None else (as_rows(validation), None), unlabelled)
        else:
            scored = None if validation is None else (as_rows(validation[0]), as_labels(validation[1]))
            self._train((as_rows(X), as_labels(y)), scored, unlabelled)
        return self

    @python_errors
    def fit_transform(self, X: Sequence[Any], y: Sequence[Label] | None = None, **options: Any) -> np.ndarray:
        """Fit, then return the embeddings of the texts; for pairs and triples, of the first text."""
        rows = as_rows(X)
        return self.fit(rows, y, **options).transform([row[0] if isinstance(row, tuple) else row for row in rows])
