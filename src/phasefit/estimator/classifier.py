"""TextClassifier: labels and probabilities for texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin

from phasefit.errors import RecipeError
from phasefit.estimator.base import TextEstimator
from phasefit.estimator.inputs import as_labels, as_texts
from phasefit.models.decision import ABSTAINED
from phasefit.runner.request import DEFAULT_RECIPE

if TYPE_CHECKING:
    from phasefit.data.table import Label
    from phasefit.training.events import Event


class TextClassifier(ClassifierMixin, TextEstimator):  # type: ignore[misc]
    """A text classifier trained in phases.

    `recipe` names a packaged recipe or a file ("default" is `few-shot` or `three-phase`, by the rows per class);
    `settings` changes options of it, e.g. `{"contrast.epochs": 4}`; `model` is a hub id, a folder, or a run to go on
    from (None: the default model). Part of the rows (`validation_fraction`) is split off, stratified, to stop phases
    early, unless `fit` is given validation rows. On these probabilities are calibrated too (`calibrate`), and with
    `reject` a threshold is chosen that so large a share of them stays below: `predict` then says None for such texts.
    """

    def __init__(
        self,
        recipe: str = DEFAULT_RECIPE,
        *,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        validation_fraction: float = 0.2,
        calibrate: bool = True,
        reject: float = 0.0,
        seed: int = 0,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 64,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self.recipe = recipe
        self.model = model
        self.settings = settings
        self.validation_fraction = validation_fraction
        self.calibrate = calibrate
        self.reject = reject
        self.seed = seed
        self.device = device
        self.precision = precision
        self.batch_size = batch_size  # of prediction; training's is an option of each phase
        self.listener = listener

    def fit(
        self,
        X: Sequence[str],
        y: Sequence[Label],
        *,
        unlabelled: Sequence[str] | None = None,
        validation: tuple[Sequence[str], Sequence[Label]] | None = None,
    ) -> TextClassifier:
        """Train on texts and labels (strings, integers, or tuples for the paths of a tree)."""
        self._refuse_encoders()
        scored = None if validation is None else (as_texts(validation[0]), as_labels(validation[1]))
        trust = {"calibrate": self.calibrate, "reject": self.reject}
        result = self._train((as_texts(X), as_labels(y)), scored, unlabelled, **trust)
        self.validation_metrics_ = result.metrics.get("validation")
        return self

    def _refuse_encoders(self) -> None:
        from phasefit.recipes import read_recipe

        if self.recipe == DEFAULT_RECIPE:
            return
        recipe = read_recipe(self.recipe)
        if not any(phase.trains_head for phase in recipe.phases):
            raise RecipeError(f"recipe '{recipe.name}' trains an encoder and no classifier; use TextEncoder for it")

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The most probable label of each text, or None where it is not sure enough; trees as an array of tuples."""
        codes = self._fitted().decision().answers(self.predict_proba(X))
        labels: np.ndarray = self.classes_[codes]
        if (codes == ABSTAINED).any():
            labels = labels.astype(object)
            labels[codes == ABSTAINED] = None
        return labels

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """Probabilities, columns in the order of `classes_`."""
        texts = as_texts(X)
        if not texts:
            return np.empty((0, len(self._fitted().space)))
        return self._fitted().predict_proba(texts, batch_size=self.batch_size)

    def score(self, X: Sequence[str], y: Sequence[Label], sample_weight: Any = None) -> float:
        """Accuracy of the most probable labels, sure or not."""
        space = self._fitted().space
        # A label that was never seen in fit is one the classifier cannot get right.
        truth = [int(space.encode([label])[0]) if space.knows(label) else -1 for label in as_labels(y)]
        right = self.predict_proba(X).argmax(axis=1) == np.array(truth)
        return float(np.average(right, weights=sample_weight))

    def _take_over(self) -> None:
        """The classes, in the order of the columns of `predict_proba`."""
        classes = self.model_.space.classes
        if isinstance(classes[0], tuple):
            self.classes_ = np.empty(len(classes), dtype=object)
            self.classes_[:] = classes
        else:
            self.classes_ = np.array(classes, dtype=None if len({type(c) for c in classes}) == 1 else object)
