"""Thresholds of several labels per text, chosen on validation rows.

The best threshold of a rare label depends on a few rows, so each label's own threshold is shrunk towards a rule that
all labels share: a margin above the label's mean probability, because rare labels have low probabilities.
"""

from __future__ import annotations

import numpy as np

from phasefit.metrics.confusion import Floats

HALF = 0.5
LEAST, MOST = 0.02, 0.98  # more extreme thresholds would depend on single rows
PRIOR_ROWS = 10  # a label with this many rows has a threshold half-way between its own and the common rule
SHARES = (0.0, 0.5, 1.0)  # of a label's mean log-odds in the common rule; 0: one threshold for all labels
MARGINS = 100  # common rules to try for each share
MACRO = "macro_f1"


def shrunk_thresholds(true: np.ndarray, probabilities: Floats, metric: str) -> np.ndarray:
    """A threshold per label: its own best one, the closer to the common rule the fewer rows have the label.

    The common rule has the best macro F1 if that is the metric, otherwise the best micro F1.
    """
    common = _log_odds(common_thresholds(true, probabilities, metric))
    rows = true.sum(axis=0)
    own = np.where(rows > 0, _log_odds(best_thresholds(true, probabilities)), common)
    weight = rows / (rows + PRIOR_ROWS)
    return np.asarray(np.clip(_probability(weight * own + (1 - weight) * common), LEAST, MOST))


def common_thresholds(true: np.ndarray, probabilities: Floats, metric: str) -> np.ndarray:
    """The thresholds of the best common rule on these rows; of tied rules, the one closest to 0.5."""
    odds, levels = _log_odds(probabilities), _log_odds(probabilities.mean(axis=0))
    order = np.argsort(-odds, axis=0, kind="stable")
    ranked = -np.take_along_axis(odds, order, axis=0)  # ascending, for searchsorted
    hits = np.vstack([np.zeros(true.shape[1]), np.cumsum(np.take_along_axis(true, order, axis=0), axis=0)])
    best, thresholds = -1.0, np.full(true.shape[1], HALF)
    for share in SHARES:
        margins = np.unique(np.quantile(odds - share * levels, np.linspace(0, 1, MARGINS)))
        rules = np.clip(_probability(share * levels + margins[:, None]), LEAST, MOST)
        scores = _f1_of_rules(ranked, hits, -_log_odds(rules), metric)
        tied = np.flatnonzero(scores >= scores.max() - 1e-12)
        if scores.max() > best + 1e-12:
            nearest = tied[np.abs(rules[tied] - HALF).mean(axis=1).argmin()]
            best, thresholds = float(scores.max()), rules[nearest]
    return thresholds


def best_thresholds(true: np.ndarray, probabilities: Floats) -> np.ndarray:
    """The threshold of each label with the best F1 on these rows; of tied thresholds, the one closest to 0.5.

    A label without rows gets 0.5.
    """
    thresholds = np.full(true.shape[1], HALF)
    for code in np.flatnonzero(true.any(axis=0)):
        order = np.argsort(-probabilities[:, code], kind="stable")
        ranked, hits = probabilities[order, code], np.cumsum(true[order, code])
        f1 = 2 * hits / (np.arange(1, len(order) + 1) + hits[-1])
        ends = np.append(ranked[:-1] > ranked[1:], True)  # a threshold cannot separate rows of equal probability
        below = np.append(ranked[1:], 0.0)
        middle = (ranked + below) / 2
        # The mean of two adjacent floats may round down to the lower one: use the upper one instead.
        middle = np.clip(np.where(middle > below, middle, ranked), LEAST, MOST)
        allowed = ends & (middle <= ranked) & (middle > below)
        if allowed.any():
            best = np.flatnonzero(allowed & (f1 >= f1[allowed].max() - 1e-12))
            thresholds[code] = middle[best[np.abs(middle[best] - HALF).argmin()]]
    return thresholds


def _f1_of_rules(ranked: np.ndarray, hits: np.ndarray, rules: np.ndarray, metric: str) -> np.ndarray:
    """The F1 of each rule, (rules,), from the negated log-odds of each label in ascending order."""
    labels = range(ranked.shape[1])
    chosen = np.stack([np.searchsorted(ranked[:, code], rules[:, code], side="right") for code in labels], axis=1)
    right, rows = np.take_along_axis(hits, chosen, axis=0), hits[-1]
    if metric != MACRO:
        return np.asarray(2 * right.sum(axis=1) / np.maximum(chosen.sum(axis=1) + rows.sum(), 1))
    both = chosen + rows
    each = 2 * right / np.maximum(both, 1)
    return np.asarray(each.sum(axis=1) / np.maximum((both > 0).sum(axis=1), 1))


def _log_odds(probabilities: np.ndarray) -> np.ndarray:
    clipped = np.clip(np.asarray(probabilities, dtype=np.float64), 1e-12, 1 - 1e-12)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def _probability(log_odds: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-log_odds)))
