"""Labels that are probably wrong: confident learning (Northcutt et al., "Confident learning", JAIR 2021).

The model is confident in a class if its probability reaches the mean that it has on rows labelled with that class. A
label is suspect if its probability is below that mean while another class reaches its own mean. The cleanlab package
does this and much more, but its licence, the AGPL, would apply to every user of this package, and the rule is a few
lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.metrics.confusion import Floats, Ints


@dataclass(frozen=True)
class Doubts:
    """Rows with a suspect label, the most suspect first."""

    rows: Ints
    better: Ints  # the class that the model suggests; with several labels per text, the suspect label
    margin: Floats  # the probability of the given label minus that of the likelier one: -1 to 1, ascending


def doubted_labels(codes: Ints, probabilities: Floats) -> Doubts:
    """Suspect labels from n given codes and (n, classes) probabilities of a model not trained on these rows.

    Classes without rows are never suggested, because the model's confidence in them is unknown.
    """
    places = np.arange(len(codes))
    own = probabilities[places, codes].astype(np.float64)
    sizes = np.bincount(codes, minlength=probabilities.shape[1])
    means = np.bincount(codes, weights=own, minlength=len(sizes)) / np.maximum(sizes, 1)
    limits = np.where((sizes > 0) & (means > 0), means, np.inf)
    others = probabilities.astype(np.float64)
    others[places, codes] = -np.inf
    confident = np.where(others >= limits, others, -np.inf)
    suspects = np.flatnonzero((own < limits[codes]) & np.isfinite(confident).any(axis=1))
    margin = own - others.max(axis=1, initial=-np.inf)
    order = suspects[np.argsort(margin[suspects], kind="stable")]
    return Doubts(order, confident[order].argmax(axis=1), margin[order])


def doubted_sets(given: np.ndarray, probabilities: Floats) -> Doubts:
    """Suspect labels of texts with several labels, (n, classes) bool: each label of each row is a binary decision.

    A row appears once, with its most suspect label. Decisions with a probability of 0.5 or more are never suspect: the
    mean probability of a rare label is low, and most rows would fall below it.
    """
    present = probabilities.astype(np.float64)
    own = np.where(given, present, 1 - present)
    rows = np.maximum(given.sum(axis=0), 1), np.maximum((~given).sum(axis=0), 1)
    mean_given = np.where(given, present, 0).sum(axis=0) / rows[0]
    mean_absent = np.where(given, 0, 1 - present).sum(axis=0) / rows[1]
    limit, other = np.where(given, mean_given, mean_absent), np.where(given, mean_absent, mean_given)
    has_both = given.any(axis=0) & ~given.all(axis=0)
    suspect = (own < limit) & (1 - own >= other) & (own < 0.5) & has_both
    margin = np.where(suspect, 2 * own - 1, np.inf)
    suspect_rows = np.flatnonzero(suspect.any(axis=1))
    worst = margin[suspect_rows].argmin(axis=1) if len(suspect_rows) else np.empty(0, dtype=np.int64)
    order = np.argsort(margin[suspect_rows, worst], kind="stable")
    return Doubts(suspect_rows[order], worst[order], margin[suspect_rows, worst][order])
