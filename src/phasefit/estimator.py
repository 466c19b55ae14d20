"""TextClassifier: phasefit by scikit-learn's rules. `__init__` stores, `fit` builds, `clone` works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from phasefit.errors import DataError, RecipeError
from phasefit.runner.request import TrainRequest

if TYPE_CHECKING:
    from phasefit.data.table import Label
    from phasefit.models.model import Model
    from phasefit.training.events import Event


class TextClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier trained in phases.

    `recipe` names a packaged recipe or a file; `settings` changes options of it, e.g. `{"contrast.epochs": 4}`;
    `model` is a hub id, a folder, or a run to go on from (None: the default model). Part of the rows
    (`validation_fraction`) is split off, stratified, to stop phases early, unless `fit` is given validation rows.
    """

    def __init__(
        self,
        recipe: str = "three-phase",
        *,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        validation_fraction: float = 0.2,
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
        from phasefit.runner.fit_request import fit_request

        request = TrainRequest(
            data=(_texts(X), _labels(y)),
            validation=None if validation is None else (_texts(validation[0]), _labels(validation[1])),
            unlabelled=None if unlabelled is None else _texts(unlabelled) or None,
            validation_size=self.validation_fraction,
            test_size=0.0,
            recipe=self.recipe,
            settings=tuple(_settings(self.settings or {})),
            model=self.model,
            seed=self.seed,
            device=self.device,
            precision=self.precision,
        )
        result = fit_request(request, self.listener or _silent)
        self.model_ = result.model
        self.history_ = result.fitted.history.rows
        self.phases_ = result.fitted.phases
        self.validation_metrics_ = result.metrics.get("validation")
        self._take_classes()
        return self

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The most probable label of each text; tree labels as an object array of tuples."""
        codes = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[codes]
        return labels

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:
        """Probabilities, columns in the order of `classes_`."""
        texts = _texts(X)
        if not texts:
            return np.empty((0, len(self._fitted().space)))
        return self._fitted().predict_proba(texts, batch_size=self.batch_size)

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Embeddings (n, d)."""
        texts = _texts(X)
        if not texts:
            return np.empty((0, self._fitted().encoder.dimension), dtype=np.float32)
        return self._fitted().embed(texts, batch_size=self.batch_size)

    def score(self, X: Sequence[str], y: Sequence[Label], sample_weight: Any = None) -> float:
        """Accuracy."""
        space = self._fitted().space
        # A label that was never seen in fit is one the classifier cannot get right.
        truth = [int(space.encode([label])[0]) if space.knows(label) else -1 for label in _labels(y)]
        right = self.predict_proba(X).argmax(axis=1) == np.array(truth)
        return float(np.average(right, weights=sample_weight))

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save the model; an existing folder is refused unless it holds a model and may be overwritten."""
        from phasefit.store import save_model

        save_model(self._fitted(), Path(folder), overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> TextClassifier:
        """A saved classifier or a finished run, ready to predict."""
        from phasefit.store import load_model

        classifier = cls(device=device)
        classifier.model_ = load_model(folder, device)
        classifier._take_classes()
        return classifier

    def _take_classes(self) -> None:
        classes = self.model_.space.classes
        if isinstance(classes[0], tuple):
            self.classes_ = np.empty(len(classes), dtype=object)
            self.classes_[:] = classes
        else:
            self.classes_ = np.array(classes, dtype=None if len({type(c) for c in classes}) == 1 else object)

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError("this TextClassifier is not fitted yet; call fit, or load a saved one")
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.non_deterministic = False
        return tags


def _texts(texts: Any) -> list[str]:
    if isinstance(texts, str):
        raise DataError("give a list of texts, not one string")
    if getattr(texts, "ndim", 1) == 2 and texts.shape[1] == 1:  # one column of a frame or an array
        texts = texts.iloc[:, 0] if hasattr(texts, "iloc") else texts[:, 0]
    if isinstance(texts, Mapping) or getattr(texts, "ndim", 1) > 1:
        raise DataError("give the texts as one column, e.g. frame['text'], or as a list")
    listed = list(texts)
    for row, text in enumerate(listed, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"text {row} is a {type(text).__name__}, not a string; give a one-dimensional list of texts"
            )
    return listed


def _labels(labels: Any) -> list[Any]:
    """NumPy's and pandas' scalars as Python's own."""
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def _settings(settings: Mapping[str, Any]) -> list[str]:
    if not isinstance(settings, Mapping):
        raise RecipeError(f"settings is a dict such as {{'finetune.epochs': 4}}, not {settings!r}")
    return [f"{name}={_toml(name, value)}" for name, value in settings.items()]


def _toml(name: str, value: Any) -> str:
    import tomli_w

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(name, inner)}" for key, inner in value.items()) + " }"
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        return tomli_w.dumps({"v": plain}).partition("=")[2].strip()
    except TypeError as error:
        raise RecipeError(f"settings: {name} cannot be {value!r}; leave it out or give a value") from error


def _silent(_: Event) -> None:
    """Nobody listens."""
