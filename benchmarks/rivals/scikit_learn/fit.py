"""TF-IDF of words and word pairs with logistic regression, without an encoder; run by its own environment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job, Prediction

PACKAGES = ("scikit-learn", "scipy", "numpy")
BUDGETS: dict[str, dict[str, Any]] = {
    "default": {"ngram_range": (1, 2), "sublinear_tf": True, "head": "logistic regression", "C": "cross-validation"},
}


def solve(job: Job) -> Prediction:
    """Fit and predict; there is no model to load. The vocabulary of a fold comes from its training rows."""
    from contest import Prediction
    from logistic import best_c
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def classifier(c: float) -> Any:
        words = TfidfVectorizer(
            ngram_range=tuple(job.settings["ngram_range"]), sublinear_tf=job.settings["sublinear_tf"]
        )
        return make_pipeline(words, LogisticRegression(C=c, max_iter=1000, random_state=job.seed))

    with job.clock.part("fit"):
        fitted = classifier(best_c(classifier, job.texts, job.labels, job.settings["C"], job.seed))
        fitted.fit(job.texts, job.labels)
    with job.clock.part("predict"):
        probabilities = fitted.predict_proba(job.test_texts)
    return Prediction(list(fitted.classes_), probabilities.tolist())


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
