"""Labels that are likely wrong: confident learning (Northcutt et al., "Confident learning", JAIR 2021).

The model is sure of a class when its probability reaches the mean that it has on rows labelled with that class. A
label is doubted where its own probability stays below that mean while another class reaches its own. The cleanlab
package does this too, and much more; it is under the AGPL, which would bind every user of this package, and the rule
is a few lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.metrics.confusion import Floats, Ints


@dataclass(frozen=True)
class Doubts:
    """Rows whose label is doubted, the likeliest to be wrong first."""

    rows: Ints
    better: Ints  # the class that the model would give; of several labels, the label that is in question
    margin: Floats  # the probability of what was given minus that of what is likelier: -1 to 1, the lowest first


def doubted_labels(codes: Ints, probabilities: Floats) -> Doubts:
    """Of n given codes and (n, classes) probabilities of a model that was not trained on these rows.

    Classes that no row has cannot be suggested: nothing is known of how sure the model is of them.
    """
    places = np.arange(len(codes))
    own = probabilities[places, codes].astype(np.float64)
    sizes = np.bincount(codes, minlength=probabilities.shape[1])
    means = np.bincount(codes, weights=own, minlength=len(sizes)) / np.maximum(sizes, 1)
    limits = np.where((sizes > 0) & (means > 0), means, np.inf)
    others = probabilities.astype(np.float64)
    others[places, codes] = -np.inf
    sure = np.where(others >= limits, others, -np.inf)
    doubted = np.flatnonzero((own < limits[codes]) & np.isfinite(sure).any(axis=1))
    margin = own - others.max(axis=1, initial=-np.inf)
    order = doubted[np.argsort(margin[doubted], kind="stable")]
    return Doubts(order, sure[order].argmax(axis=1), margin[order])


def doubted_sets(given: np.ndarray, probabilities: Floats) -> Doubts:
    """Of several labels per text, (n, classes) bool: each label of each row is a question with two answers.

    A row appears once, with the label that is most in question. Only answers that are less likely than not are doubted:
    the mean probability of a rare label is low, and would doubt most rows.
    """
    sure = probabilities.astype(np.float64)
    own = np.where(given, sure, 1 - sure)
    rows = np.maximum(given.sum(axis=0), 1), np.maximum((~given).sum(axis=0), 1)
    there, absent = np.where(given, sure, 0).sum(axis=0) / rows[0], np.where(given, 0, 1 - sure).sum(axis=0) / rows[1]
    limit, other = np.where(given, there, absent), np.where(given, absent, there)
    has_both = given.any(axis=0) & ~given.all(axis=0)
    doubted = (own < limit) & (1 - own >= other) & (own < 0.5) & has_both
    margin = np.where(doubted, 2 * own - 1, np.inf)
    rows_doubted = np.flatnonzero(doubted.any(axis=1))
    worst = margin[rows_doubted].argmin(axis=1) if len(rows_doubted) else np.empty(0, dtype=np.int64)
    order = np.argsort(margin[rows_doubted, worst], kind="stable")
    return Doubts(rows_doubted[order], worst[order], margin[rows_doubted, worst][order])
