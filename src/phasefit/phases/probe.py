"""A quick linear probe: how well do frozen vectors separate the classes?"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from phasefit.errors import RecipeError
from phasefit.metrics.scores import quick_scores
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.inference import encode_rows
from phasefit.phases.contract import PhaseData
from phasefit.seeds import generator

TRAIN_ROWS, VALIDATION_ROWS = 2000, 2000


class Probe:
    """Logistic regression on a fixed sample of training rows, scored on a fixed sample of validation rows."""

    def __init__(self, data: PhaseData, seed: int) -> None:
        self._data = data
        random = generator(seed, "probe")
        train, validation = (rows[data.codes[rows] >= 0] for rows in (data.train, data.validation))
        self._train = _sample(train, TRAIN_ROWS, random)
        self._validation = _sample(validation, VALIDATION_ROWS, random)

    def __bool__(self) -> bool:
        return len(self._validation) > 0 and len(np.unique(self._data.codes[self._train])) > 1

    def check(self, name: str, watch: str) -> None:
        """Raise if the probe is watched but there are no labels to fit it."""
        if watch == "probe" and not self and len(self._data.validation):
            raise RecipeError(f"{name}: watch = 'probe' needs labels of at least two classes; use watch = 'auto'")

    @property
    def parts(self) -> list[tuple[int, int]]:
        """Number of training and validation rows that one evaluation encodes, one text each."""
        return [(len(self._train), 1), (len(self._validation), 1)] if self else []

    def scores(
        self, encoder: Encoder, sample: Callable[[np.ndarray], np.ndarray] = lambda rows: rows
    ) -> dict[str, float]:
        """Macro F1 and accuracy of the probe on the validation rows, or on a sample of them."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        trained, scored = self._fitted_rows(sample), sample(self._validation)
        rows = np.concatenate([trained, scored])
        vectors = encode_rows(encoder, self._data.tokens, rows).cpu().double().numpy()
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
        train, validation = vectors[: len(trained)], vectors[len(trained) :]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # nearly converged is good enough to rank encoders
            fitted = LogisticRegression(C=10.0, max_iter=100).fit(train, self._data.codes[trained])
        probabilities = np.zeros((len(validation), len(self._data.space.groups)))
        probabilities[:, fitted.classes_] = fitted.predict_proba(validation)
        scores = quick_scores(self._data.codes[scored], probabilities)
        return {"probe": scores["macro_f1"], "probe_accuracy": scores["accuracy"]}

    def _fitted_rows(self, sample: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A sample of the training rows, with at least one row of two classes."""
        rows = sample(self._train)
        if len(np.unique(self._data.codes[rows])) > 1:
            return rows
        other = self._train[self._data.codes[self._train] != self._data.codes[rows[0]]]
        return np.append(rows, other[:1])


def _sample(rows: np.ndarray, most: int, random: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= most else np.sort(random.choice(rows, most, replace=False))
