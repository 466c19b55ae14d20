"""TF-IDF of words and word pairs with logistic regression, without an encoder; run by its own environment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job

PACKAGES = ("scikit-learn", "scipy", "numpy")
BUDGETS: dict[str, dict[str, Any]] = {
    "default": {"ngram_range": (1, 2), "sublinear_tf": True, "head": "logistic regression", "C": 10.0},
}


def solve(job: Job) -> list[str]:
    """Fit and predict; there is no model to load."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    chosen = job.settings
    classifier = make_pipeline(
        TfidfVectorizer(ngram_range=chosen["ngram_range"], sublinear_tf=chosen["sublinear_tf"]),
        LogisticRegression(C=chosen["C"], max_iter=1000, random_state=job.seed),
    )
    with job.clock.part("fit"):
        classifier.fit(job.texts, job.labels)
    with job.clock.part("predict"):
        return list(classifier.predict(job.test_texts))


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
