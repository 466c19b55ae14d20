"""TextRegressor: scores for texts or pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin

from phasefit.data.checks import Place
from phasefit.data.labels.reading import LabelReading, read_labels
from phasefit.data.table_reading import Lists
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import ModelError
from phasefit.estimators.explaining import ExplainingEstimator
from phasefit.estimators.inputs import as_labels, as_rows, as_weights
from phasefit.kinds import kind_of
from phasefit.parameter_names import python_errors
from phasefit.runs.specification import DEFAULT_RECIPE

if TYPE_CHECKING:
    from phasefit.events import Event


class TextRegressor(RegressorMixin, ExplainingEstimator):  # type: ignore[misc]
    """A regressor trained in phases. It predicts a number for a text or for a pair of texts (a 2-tuple).

    Parameters
    ----------
    recipe
        A packaged recipe or the path of a recipe file. "default" is `finetune`; "auto" tries several within
        `minutes` and trains the best.
    levels
        The names of an ordered scale, lowest first. Labels and predictions are then these names.
    model
        The pretrained encoder: a hub id, a folder, or a run (also `hub:owner/name`) to continue from. None uses the
        default model.
    settings
        Options of the recipe to change, for example `{"finetune.epochs": 4}`.
    effort
        How much training to spend, from 1 to 5, if the recipe has efforts; 3 is the recipe as it is.
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
    minutes
        The time limit of `recipe="auto"`, including the final training; None: 10.
    verbose
        Whether to show progress: True, False, or None, which shows it in terminals and notebooks.
    listener
        A function that receives every event of training: notes, steps, scores (see `phasefit.events`).

    Attributes
    ----------
    levels_
        The names of the levels; empty for plain numbers.
    model_
        The trained model.
    validation_metrics_
        The metrics on the validation rows; None without validation rows.
    trials_
        What `recipe="auto"` tried and chose; None for other recipes.
    history_, phases_
        The losses and scores of every step, and a summary of each phase.
    """

    @python_errors
    def __init__(
        self,
        recipe: str = DEFAULT_RECIPE,
        *,
        levels: Sequence[str] | None = None,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        effort: int = USUAL_EFFORT,
        validation_size: float = 0.2,
        seed: int = 0,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 64,
        verbose: bool | int | None = None,
        minutes: float | None = None,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self.recipe = recipe
        self.levels = levels
        self.model = model
        self.settings = settings
        self.effort = effort
        self.validation_size = validation_size
        self.seed = seed
        self.device = device
        self.precision = precision
        self.batch_size = batch_size  # for prediction; each phase has its own for training
        self.verbose = verbose
        self.minutes = minutes
        self.listener = listener

    @python_errors
    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        *,
        unlabelled: Sequence[str] | None = None,
        validation: tuple[Sequence[Any], Sequence[Any]] | None = None,
    ) -> TextRegressor:
        """Train on texts and scores.

        Parameters
        ----------
        X
            Texts, or 2-tuples of texts for pairs.
        y
            One number per row, or the name of a level.
        sample_weight
            A weight for each row, at least 0; only their ratios matter. It multiplies the loss of the row in every
            phase; a pair that an objective forms has the product of the weights of its rows. Validation metrics do not
            use it. Objectives and phases that cannot use weights are refused by name.
        unlabelled
            More texts, for the phases that need no labels.
        validation
            (X, y) of the validation rows; None holds out `validation_size` of the training rows.
        """
        self._refuse_encoders("head")
        scored = None if validation is None else (as_rows(validation[0]), as_labels(validation[1]))
        more = {"kind": "score", "levels": tuple(map(str, self.levels or ()))}
        rows = as_rows(X)
        data = Lists(rows, as_labels(y), as_weights(sample_weight, len(rows)))
        result = self._train(data, scored, unlabelled, **more)
        self.validation_metrics_ = result.metrics.get("validation")
        return self

    @python_errors
    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Return the score of each text; with levels, the name of the nearest level."""
        rows, model = as_rows(X), self._fitted()
        scores = model.predict(rows, task=self.task_, batch_size=self.batch_size) if rows else []
        return np.array(scores, dtype=None if scores else float)

    @python_errors
    def predict_scores(self, X: Sequence[Any]) -> np.ndarray:
        """Return scores as numbers; with levels, positions on the scale starting at 0."""
        rows = as_rows(X)
        return np.asarray(self._fitted().predict_outputs(rows, task=self.task_, batch_size=self.batch_size)[:, 0])

    @python_errors
    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None) -> float:
        """Return R² of the scores, as in scikit-learn; with levels, of the positions on the scale."""
        from sklearn.metrics import r2_score

        levels = tuple(map(str, self._space.classes))
        truth = read_labels(as_labels(y), Place("y"), LabelReading("score", levels=levels))
        return float(r2_score(truth, self.predict_scores(X), sample_weight=sample_weight))

    def _adopt(self) -> None:
        """Set the levels of the model."""
        space = self._space
        if kind_of(space).has_classes:
            raise ModelError(f"this model has labels of kind '{space.kind}'; load it with TextClassifier")
        self.levels_ = tuple(map(str, space.classes))
