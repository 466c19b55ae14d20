"""TF-IDF with logistic regression: no encoder, and hard to beat if single words determine the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.baselines.linear import fit_linear
from phasefit.data.table import Table
from phasefit.errors import DataError
from phasefit.prepare.prepare import Prepared

C = 10.0


class TfIdf(Baseline):
    """Fits words and bigrams; for pairs of texts, those of each text and of both."""

    title = "TF-IDF of words and bigrams with logistic regression (scikit-learn)"

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Fit the vocabulary and the model on the training rows."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        try:
            words.fit(list(prepared.train.all_texts))
        except ValueError as error:  # no word with two letters or more
            raise DataError(
                f"{prepared.name}: tfidf finds no words in the training texts; remove it from the comparison"
            ) from error
        predict = fit_linear(_features(words, prepared.train), prepared, options.seed, C)
        return lambda table: predict(_features(words, table))


def _features(words: Any, table: Table) -> Any:
    from scipy.sparse import hstack

    sides = [words.transform(list(side)) for side in table.sides[:2]]
    if len(sides) == 1:
        return sides[0]
    left, right = sides
    overlap = np.asarray(left.multiply(right).sum(axis=1)).reshape(-1, 1)
    return hstack([left, right, abs(left - right), left.multiply(right), overlap]).tocsr()


BASELINE = TfIdf()
