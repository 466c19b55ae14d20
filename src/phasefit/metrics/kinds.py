"""How predictions are scored while a phase trains, by the kind of the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from phasefit.errors import RecipeError
from phasefit.metrics.multi_label import quick_multi
from phasefit.metrics.registry import added_scores, watchable_names
from phasefit.metrics.regression import quick_regression
from phasefit.metrics.scores import quick_scores

Quick = Callable[[np.ndarray, np.ndarray], dict[str, float]]


@dataclass(frozen=True)
class Watching:
    """What can be watched, which of it where nothing is said, and of which score the error is known."""

    kind: str
    compute: Quick  # the `values` of the labels, a head's outputs -> scores
    watch: str
    judged: str  # what runs are compared by
    scale: str  # a score between 0 and 1 whose standard error tells how far scores can be trusted
    headline: tuple[str, ...]  # what a report shows first

    @property
    def names(self) -> tuple[str, ...]:
        """All that can be watched."""
        return watchable_names(self.kind)

    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """The scores of one validation, with those that plugins add."""
        return self.compute(values, outputs) | added_scores(self.kind, values, outputs, watched=True)

    def check(self, name: str, kind: str, where: str) -> str:
        """The score to watch; `auto` is the usual one."""
        if name == "auto":
            return self.watch
        if name not in self.names:
            raise RecipeError(
                f"{where}: labels of kind '{kind}' have no '{name}' to watch; they have {', '.join(self.names)}"
            )
        return name

    def error(self, scores: dict[str, float], rows: int) -> float:
        """The standard error of the scale on so many rows."""
        value = min(max(scores[self.scale], 0.0), 1.0)
        if self.scale == "pearson":
            return (1 - value**2) / sqrt(max(rows - 1, 1))
        return sqrt(value * (1 - value) / max(rows, 1))


_CLASSES = ("accuracy", "macro_f1", "weighted_f1", "hierarchical_f1", "roc_auc", "ece", "answered", "accuracy_answered")
_SETS = ("micro_f1", "macro_f1", "samples_f1", "accuracy", "labels_per_text", "ece")
_NUMBERS = ("pearson", "spearman", "mae", "r2", "quadratic_kappa", "accuracy")
WATCHING: dict[str, Watching] = {
    watching.kind: watching
    for watching in (
        Watching("single", quick_scores, "macro_f1", "accuracy", "accuracy", _CLASSES),
        Watching("tree", quick_scores, "macro_f1", "accuracy", "accuracy", _CLASSES),
        Watching("multi", quick_multi, "macro_f1", "micro_f1", "micro_f1", _SETS),
        Watching("score", quick_regression, "pearson", "pearson", "pearson", _NUMBERS),
    )
}
JUDGED = {kind: watching.judged for kind, watching in WATCHING.items()}


def kind_of_metrics(metrics: Mapping[str, Any]) -> str:
    """The kind of the labels that these metrics of a split are of; trees count as single."""
    return "score" if "pearson" in metrics else "multi" if "micro_f1" in metrics else "single"


def mean_of_tasks(
    tasks: Mapping[str, Mapping[str, Any]], kinds: Mapping[str, str], watches: Mapping[str, str] | None = None
) -> float:
    """The mean of what each task is judged by: what it watches, or accuracy, of several labels micro F1, of scores
    Pearson's."""
    watched = {name: JUDGED[kinds[name]] for name in tasks}
    watched |= {name: watch for name, watch in (watches or {}).items() if name in tasks and watch != "auto"}
    return float(np.mean([float(metrics.get(watched[name]) or 0.0) for name, metrics in tasks.items()]))
