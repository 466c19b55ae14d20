"""TextEncoder: embeddings learned from texts without labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.table_reading import Lists
from phasefit.errors import RecipeError
from phasefit.estimators.base import TextEstimator
from phasefit.estimators.inputs import as_labels, as_rows, as_weights
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
        The pretrained encoder: a hub id, a folder, or a run (also `hub:owner/name`) to continue from. None uses the
        default model.
    settings
        Options of the recipe to change, for example `{"simcse.epochs": 4}`.
    validation_size
        The share of rows to hold out for choosing the best weights if `fit` gets no validation rows.
    seed
        The seed of every random choice in training.
    device
        "auto", "cpu", "cuda", "cuda:1" or "mps".
    precision
        "auto" (bfloat16 on GPUs that have it), "no", "bf16" (GPUs, CPUs with bfloat16 units) or "fp16" (GPUs).
    batch_size
        Texts per batch in prediction. The training batch size is an option of each phase.
    verbose
        Whether to show progress: True, False, or None, which shows it in terminals and notebooks.
    listener
        A function that receives every event of training: notes, steps, scores (see `phasefit.events`).

    Attributes
    ----------
    model_
        The trained model.
    history_, phases_
        The losses and scores of every step, and a summary of each phase.
    """

    _predicts = False

    @python_errors
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
        verbose: bool | int | None = None,
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
        self.verbose = verbose
        self.listener = listener

    @python_errors
    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Label] | None = None,
        sample_weight: Any = None,
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
        sample_weight
            A weight for each row, at least 0; only their ratios matter. It multiplies the loss of the row in every
            phase. Objectives and phases that cannot use weights are refused by name.
        unlabelled
            More texts, for the phases that need no labels.
        validation
            The validation rows: (X, y) if `y` is given, else X; None holds out `validation_size` of the rows.
        """
        if is_baseline_recipe(self.recipe):
            raise RecipeError(f"recipe '{self.recipe}' fits a classifier and trains no encoder; use TextClassifier")
        rows, scored = as_rows(X), None
        if validation is not None:
            labelled = (validation, None) if y is None else validation
            scored = Lists(as_rows(labelled[0]), None if labelled[1] is None else as_labels(labelled[1]))
        data = Lists(rows, None if y is None else as_labels(y), as_weights(sample_weight, len(rows)))
        self._train(data, scored, unlabelled)
        return self

    @python_errors
    def fit_transform(self, X: Sequence[Any], y: Sequence[Label] | None = None, **options: Any) -> np.ndarray:
        """Fit, then return the embeddings of the texts; for pairs and triples, of the first text."""
        rows = as_rows(X)
        return self.fit(rows, y, **options).transform([row[0] if isinstance(row, tuple) else row for row in rows])
