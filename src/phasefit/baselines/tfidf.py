"""TF-IDF with logistic regression: no encoder, and hard to beat if single words determine the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phasefit.baselines.contract import FitOptions, SavableBaseline
from phasefit.errors import DataError
from phasefit.models.linear import LinearRows, fit_linear
from phasefit.models.tfidf.features import row_features
from phasefit.models.tfidf.model import PAIR, TfidfHead, TfidfModel
from phasefit.prepare.prepare import Prepared

if TYPE_CHECKING:
    from phasefit.models.predictor import Predictor

C = 10.0


class TfIdf(SavableBaseline):
    """Fits words and bigrams; for pairs of texts, those of each text and of both."""

    title = "TF-IDF of words and bigrams with logistic regression (scikit-learn)"

    def fit_model(self, prepared: Prepared, options: FitOptions) -> Predictor:
        """Fit the vocabulary and the model on the training rows."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        try:
            words.fit(list(prepared.train.all_texts))
        except ValueError as error:  # no word with two letters or more
            raise DataError(
                f"{prepared.name}: tfidf finds no words in the training texts; use other recipes"
            ) from error
        terms, idf = tuple(map(str, words.get_feature_names_out())), words.idf_.astype(np.float32)
        sides = [list(side) for side in prepared.train.sides[:2]]
        features = row_features(sides, {term: place for place, term in enumerate(terms)}, idf)
        rows = LinearRows(features, prepared.space, prepared.values(prepared.train), prepared.train.weights)
        linear = fit_linear(rows, C=C, seed=options.seed)
        return TfidfModel(TfidfHead(terms, idf, linear, PAIR if len(sides) > 1 else None), prepared.space)


BASELINE = TfIdf()
