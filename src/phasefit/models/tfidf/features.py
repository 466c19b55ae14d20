"""Words and bigrams of a text, weighted as scikit-learn's TfidfVectorizer does with `sublinear_tf`.

Written here because a saved model must predict without pickles and without the private state of that class; a test
compares both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

WORD = re.compile(r"\b\w\w+\b")
TERM = re.compile(r"\w\w+(?: \w\w+)?")  # a word or two


def terms(text: str) -> Iterator[str]:
    """The words of two letters or more, then the pairs of neighbours."""
    words = WORD.findall(text.lower())
    yield from words
    for left, right in pairwise(words):
        yield f"{left} {right}"


def tfidf_rows(texts: Sequence[str], places: Mapping[str, int], idf: np.ndarray) -> Any:
    """(texts, terms) as a sparse matrix with rows of unit length; unknown terms are ignored."""
    from scipy.sparse import csr_matrix

    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for text in texts:
        counts = Counter(place for term in terms(text) if (place := places.get(term)) is not None)
        own = np.fromiter(counts, np.int64, len(counts))
        weights = (1 + np.log(np.fromiter(counts.values(), np.float64, len(counts)))) * idf[own]
        columns.extend(own.tolist())
        values.extend((weights / (np.linalg.norm(weights) or 1.0)).tolist())
        starts.append(len(columns))
    return csr_matrix((values, columns, starts), shape=(len(texts), len(places)))


def row_features(sides: Sequence[Sequence[str]], places: Mapping[str, int], idf: np.ndarray) -> Any:
    """The features of texts; for pairs those of each text, their difference and product, and the overlap."""
    from scipy.sparse import hstack

    rows = [tfidf_rows(side, places, idf) for side in sides]
    if len(rows) == 1:
        return rows[0]
    left, right = rows
    overlap = np.asarray(left.multiply(right).sum(axis=1)).reshape(-1, 1)
    return hstack([left, right, abs(left - right), left.multiply(right), overlap]).tocsr()


def feature_count(terms: int, *, pairs: bool) -> int:
    """The number of columns of `row_features`."""
    return 4 * terms + 1 if pairs else terms
