"""TextClassifier: labels and probabilities for texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin

from phasefit.data.labels.kinds import LABEL_KINDS, USUAL
from phasefit.data.labels.reading import detect_kind
from phasefit.data.table_reading import Lists
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import LabelError, ModelError
from phasefit.estimators.explaining import ExplainingEstimator
from phasefit.estimators.inputs import as_label_rows, as_rows, as_weights
from phasefit.kinds import kind_of
from phasefit.kinds.decision import ABSTAINED
from phasefit.parameter_names import python_errors
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.specification import DEFAULT_RECIPE

if TYPE_CHECKING:
    from phasefit.events import Event

COLUMNS = "label_columns"  # in the manifest of a saved classifier


class TextClassifier(ClassifierMixin, ExplainingEstimator):  # type: ignore[misc]
    """A classifier trained in phases, for texts or for pairs of texts (2-tuples).

    Parameters
    ----------
    recipe
        A packaged recipe or the path of a recipe file. "default" is `label-names`, `few-shot` or `one-phase`,
        depending on the number of training rows per class and on the names of the classes; "auto" tries several
        within `minutes` and trains the best.
    model
        The pretrained encoder: a hub id, a folder, or a run (also `hub:owner/name`) to continue from. None uses the
        default model.
    settings
        Options of the recipe to change, for example `{"contrast.epochs": 4}`.
    effort
        How much training to spend, from 1 to 5, if the recipe has efforts; 3 is the recipe as it is.
    validation_size
        The share of rows to hold out for choosing the best weights if `fit` gets no validation rows.
    calibrate
        Whether probabilities are calibrated on the validation rows.
    reject
        The share of validation rows to reject as too uncertain. It sets a confidence threshold; `predict` returns None
        for texts below it.
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
    classes_
        The labels, in the order of the columns of `predict_proba`.
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
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        effort: int = USUAL_EFFORT,
        validation_size: float = 0.2,
        calibrate: bool = True,
        reject: float = 0.0,
        seed: int = 0,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 64,
        verbose: bool | int | None = None,
        minutes: float | None = None,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self.recipe = recipe
        self.model = model
        self.settings = settings
        self.effort = effort
        self.validation_size = validation_size
        self.calibrate = calibrate
        self.reject = reject
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
        y: Any,
        sample_weight: Any = None,
        *,
        unlabelled: Sequence[str] | None = None,
        validation: tuple[Sequence[Any], Any] | None = None,
    ) -> TextClassifier:
        """Train on texts and labels.

        Parameters
        ----------
        X
            Texts, or 2-tuples of texts for pairs.
        y
            Strings or integers; tuples for the paths of a tree; lists or sets for several labels per text; or an
            indicator matrix (rows, labels) of zeros and ones. For scores (decimal numbers) use `TextRegressor`.
        sample_weight
            A weight for each row, at least 0; only their ratios matter. It multiplies the loss of the row in every
            phase; a pair that an objective forms has the product of the weights of its rows. Validation metrics do not
            use it. Objectives and phases that cannot use weights are refused by name.
        unlabelled
            More texts, for the phases that need no labels.
        validation
            (X, y) of the validation rows; None holds out `validation_size` of the training rows.
        """
        self._refuse_encoders("classifier")
        labels, columns = as_label_rows(y)
        names = all(isinstance(label, str) for label in labels)  # a string is always one label
        if not names and not LABEL_KINDS[detect_kind(labels)].has_classes:
            raise LabelError(
                "y contains decimal numbers, which are scores; use TextRegressor, or convert class labels to strings"
            )
        base = base_run(self.model)
        base_kind = None if base is None or base.space is None else base.space.kind
        plain = USUAL if names and labels and base_kind in (None, USUAL) else None
        kind = detect_kind(labels) if columns is not None else plain
        scored = None if validation is None else (as_rows(validation[0]), as_label_rows(validation[1])[0])
        more = {"calibrate": self.calibrate, "reject": self.reject, "kind": kind}
        self._columns = columns
        rows = as_rows(X)
        data = Lists(rows, labels, as_weights(sample_weight, len(rows)))
        result = self._train(data, scored, unlabelled, **more)
        self.validation_metrics_ = result.metrics.get("validation")
        return self

    @python_errors
    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Return the most probable label of each text, or None below the confidence threshold (see `reject`).

        Labels of a tree are an array of tuples. Several labels per text are an indicator matrix if `fit` got one, else
        an array of tuples. A missing text (None or NaN) is an error that names its position.
        """
        probabilities = self.predict_proba(X)
        decision = self._fitted().decision(self.task_)
        if kind_of(self._space).answer == "set":
            return self._sets(decision.chosen(probabilities))
        codes = decision.answers(probabilities) if len(probabilities) else np.empty(0, dtype=np.int64)
        labels: np.ndarray = self.classes_[codes]
        if (codes == ABSTAINED).any():
            labels = labels.astype(object)
            labels[codes == ABSTAINED] = None
        return labels

    def _sets(self, chosen: np.ndarray) -> np.ndarray:
        columns = getattr(self, "_columns", None)
        if columns is None:
            return _objects([tuple(self.classes_[row].tolist()) for row in chosen])
        matrix = np.zeros((len(chosen), len(columns)), dtype=np.int64)  # a column without any 1 is no class
        for code, label in enumerate(self.classes_.tolist()):
            if label in columns:  # a run that training started from may have more classes
                matrix[:, columns.index(label)] = chosen[:, code]
        return matrix

    @python_errors
    def predict_proba(self, X: Sequence[Any]) -> np.ndarray:
        """Return probabilities, columns in the order of `classes_`; several labels per text have independent ones."""
        rows, model = as_rows(X), self._fitted()
        if not rows:
            return np.empty((0, len(self._space)))
        return model.predict_proba(rows, task=self.task_, batch_size=self.batch_size)

    @python_errors
    def score(self, X: Sequence[Any], y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the most probable labels, ignoring `reject`; sets of labels must match completely."""
        space = self._space
        labels = as_label_rows(y)[0]
        # A label that `fit` never saw counts as a mistake.
        if kind_of(space).answer == "set":
            sets = [label if isinstance(label, frozenset) else frozenset(label) for label in labels]
            predicted = self._fitted().predict(as_rows(X), task=self.task_, batch_size=self.batch_size)
            right = np.array([one == other for one, other in zip(predicted, sets, strict=True)])
        else:
            truth = [int(space.encode([label])[0]) if space.knows(label) else -1 for label in labels]
            right = self.predict_proba(X).argmax(axis=1) == np.array(truth)
        return float(np.average(right, weights=sample_weight))

    def _facts(self) -> dict[str, Any]:
        """Add the columns of the indicator matrix that `fit` got."""
        columns = getattr(self, "_columns", None)
        return super()._facts() | ({} if columns is None else {COLUMNS: list(columns)})

    def _restore(self, facts: Mapping[str, Any]) -> None:
        """Restore the columns of the indicator matrix, so that `predict` returns one again."""
        columns = facts.get(COLUMNS)
        self._columns = columns if isinstance(columns, list) else None

    def _adopt(self) -> None:
        """Set the classes, in the order of the columns of `predict_proba`."""
        space = self._space
        if not kind_of(space).has_classes:
            raise ModelError("this model predicts scores; load it with TextRegressor")
        classes = space.classes
        if isinstance(classes[0], tuple):
            self.classes_ = _objects(classes)
        else:
            self.classes_ = np.array(classes, dtype=None if len({type(c) for c in classes}) == 1 else object)


def _objects(items: Sequence[Any]) -> np.ndarray:
    """Return a one-dimensional object array; NumPy would turn tuples into a matrix."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
