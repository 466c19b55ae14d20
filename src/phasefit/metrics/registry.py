"""Every metric: its name in `metrics.json`, how it is shown, which way is better, what it can be and what it is of.

A package adds one with `add(Metric(...))`, or with an entry point of that name in the
group `phasefit.metrics`. Imports no torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np

from phasefit.errors import PluginError, RecipeError, did_you_mean
from phasefit.registry import Registry

Compute: TypeAlias = Callable[[np.ndarray, np.ndarray], float]

# What a metric is of: labels of a kind, or one of these.
LEVELS = "levels"  # scores that are levels of a scale, which have the metrics of scores too
TASKS = "tasks"  # several tasks together
CLASS = "class"  # each class by itself
GEOMETRY = "geometry"  # embeddings
PHASE = "phase"  # what a phase watches besides the metrics of labels

MEAN = "mean"  # the metric of several tasks together
INTERVAL = "_ci95"  # ends the name of the 95 % interval of a metric

ONE = ("single", "tree")
CLASSES = (*ONE, "multi")
WORDS = {"f1": "F1", "roc": "ROC", "auc": "AUC", "ece": "ECE", "mse": "MSE", "mae": "MAE"}


@dataclass(frozen=True)
class Metric:
    """One metric.

    `compute` turns the values of labels and a head's outputs into the metric; those that come with phasefit have none,
    because they are computed together. Values are codes (n,), of several labels bool (n, labels), of scores floats
    (n,); outputs are probabilities (n, classes), of scores (n, 1).
    """

    name: str
    title: str
    of: tuple[str, ...]
    higher_is_better: bool | None = True  # None: neither is
    low: float = 0.0
    high: float = 1.0
    watch: bool = False  # whether a phase may watch it
    shown: bool = True  # on the card and the page
    undefined: float | None = None  # what it counts as where it has no value
    reading: str = ""  # how to read it, where its title does not tell
    reading_without_labels: str = ""
    compute: Compute | None = None

    def better(self, new: float, old: float) -> bool:
        """Whether `new` beats `old`; what is not a number beats nothing."""
        return new < old if self.higher_is_better is False else new > old

    @property
    def worst(self) -> float:
        """What every value beats."""
        return inf if self.higher_is_better is False else -inf

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what it lies."""
        return self.low, self.high

    @property
    def is_share(self) -> bool:
        """Whether it is written in per cent."""
        return self.high <= 1


_OURS = (  # in the order to show them in
    Metric("accuracy", "accuracy", (*CLASSES, LEVELS), watch=True),
    Metric("macro_f1", "macro F1", (*CLASSES, LEVELS), watch=True),
    Metric("macro_precision", "macro precision", ONE, watch=True),
    Metric("macro_recall", "macro recall", ONE, watch=True),
    Metric("weighted_f1", "weighted F1", ONE, watch=True),
    Metric("weighted_precision", "weighted precision", ONE, shown=False),
    Metric("weighted_recall", "weighted recall", ONE, shown=False),
    Metric("roc_auc", "ROC-AUC", CLASSES, watch=True),
    Metric("hierarchical_f1", "hierarchical F1", ("tree",)),
    Metric("micro_f1", "micro F1", ("multi",), watch=True),
    Metric("micro_precision", "micro precision", ("multi",), shown=False),
    Metric("micro_recall", "micro recall", ("multi",), shown=False),
    Metric("samples_f1", "F1 of each text, in the mean", ("multi",)),
    Metric("labels_per_text", "labels per text", ("multi",), None, high=inf),
    Metric("pearson", "Pearson correlation", ("score",), low=-1.0, watch=True, undefined=0.0),
    Metric("spearman", "Spearman correlation", ("score",), low=-1.0, watch=True, undefined=0.0),
    Metric("mse", "mean squared error", ("score",), False, high=inf, watch=True),
    Metric("mae", "mean absolute error", ("score",), False, high=inf, watch=True),
    Metric("r2", "R²", ("score",), low=-inf),
    Metric("quadratic_kappa", "quadratic kappa", (LEVELS,), low=-1.0, undefined=0.0),
    Metric(MEAN, "mean of the tasks", (TASKS,), low=-1.0),  # there may be a correlation in it
    Metric("log_loss", "log loss", CLASSES, False, high=inf, watch=True),
    Metric("ece", "calibration error", CLASSES, False),
    Metric("ece_uncalibrated", "calibration error without temperature", CLASSES, False),
    Metric("answered", "share of texts answered", ONE),
    Metric("accuracy_answered", "accuracy of the answers", ONE),
    Metric("rows", "rows", (*CLASSES, "score"), None, high=inf),
    Metric("precision", "precision", (CLASS,)),
    Metric("recall", "recall", (CLASS,)),
    Metric("f1", "F1", (CLASS,)),
    Metric("support", "rows", (CLASS,), None, high=inf),
    Metric("texts", "texts", (GEOMETRY,), None, high=inf),
    # The objective on pairs of validation rows; in `geometry` the number of pairs that alignment is over.
    Metric("pairs", "pairs", (PHASE, GEOMETRY), False, low=-inf, high=inf),
    Metric(
        "alignment",
        "alignment",
        (GEOMETRY,),
        False,
        high=4.0,
        reading="squared distance within a class; low is close",
        reading_without_labels="squared distance of the texts of a pair; low is close",
    ),
    Metric(
        "uniformity",
        "uniformity",
        (GEOMETRY,),
        False,
        low=-8.0,
        high=0.0,
        reading="low: space filled evenly; a classifier may raise it",
        reading_without_labels="how evenly texts fill the space; low is even",
    ),
    Metric("within", "within", (GEOMETRY,), low=-1.0, reading="cosine within a class; high is close"),
    Metric("between", "between", (GEOMETRY,), False, low=-1.0, reading="cosine between classes; low is apart"),
    Metric("silhouette", "silhouette", (GEOMETRY,), low=-1.0, reading="1: classes apart, 0: touching, below: mixed"),
    Metric(
        "anisotropy",
        "anisotropy",
        (GEOMETRY,),
        False,
        low=-1.0,
        reading="cosine of any two texts; 1: all point one way",
    ),
    Metric(
        "confidence_entropy",
        "confidence entropy",
        (*ONE, GEOMETRY),
        False,
        high=inf,
        shown=False,
        reading="bits; 0: sure, log2(classes): guessing",
    ),
    Metric("most_entropy", "entropy of guessing", (GEOMETRY,), None, high=inf),
    Metric("probe", "probe (macro F1)", (PHASE,)),
    Metric("probe_accuracy", "probe accuracy", (PHASE,)),
    Metric("loss", "loss", (PHASE,), False, low=-inf, high=inf),
    Metric("reconstruction", "reconstruction", (PHASE,), False, high=inf),
)
METRICS: Registry[Metric] = Registry(
    "metric", "phasefit.metrics", entries={metric.name: metric for metric in _OURS}, base=Metric
)


def add(metric: Metric) -> Metric:
    """Register a metric under its name."""
    return METRICS.add(metric.name, metric)


def metrics_of(*groups: str) -> list[Metric]:
    """The metrics of labels of these kinds, or of other parts of `metrics.json`, in the order to show them in."""
    return [metric for metric in METRICS.values() if any(group in metric.of for group in groups)]


def watchable_names(*groups: str) -> tuple[str, ...]:
    """What a phase may watch of labels that have the metrics of these groups."""
    return tuple(metric.name for metric in metrics_of(*groups) if metric.watch)


def watchable(name: str) -> Metric:
    """The metric of that name; a RecipeError with the nearest name when there is none that can be watched."""
    known = [metric.name for metric in METRICS.values() if metric.watch]
    if name not in known and name != "auto":
        raise RecipeError(f"unknown score '{name}' to watch; {did_you_mean(name, known)}")
    return metric_at(name)


def comparable_names(*groups: str) -> tuple[str, ...]:
    """What runs can be compared by: metrics of these groups, or of any labels, that are better high or low."""
    chosen = metrics_of(*groups) if groups else [one for one in METRICS.values() if not {*one.of} <= {GEOMETRY, PHASE}]
    return tuple(metric.name for metric in chosen if metric.higher_is_better is not None)


def titles() -> dict[str, str]:
    """The titles of what is shown of a split, by name and in order."""
    return {metric.name: metric.title for metric in METRICS.values() if metric.shown}


def metric_at(path: str) -> Metric:
    """The metric at a path such as `test.levels.0.accuracy`, of several paths that of the first.

    What is not registered counts as a share that should be high.
    """
    name = leaf(path)
    return METRICS[name] if name in METRICS else Metric(name, spelled(name), ())


def leaf(path: str) -> str:
    """`test.levels.0.accuracy` -> accuracy; of several paths, that of the first."""
    return path.split(",")[0].rpartition(".")[2].strip()


def spelled(name: str) -> str:
    """`macro_f1` or `sst.macro_f1` as it is written: macro F1, sst macro F1."""
    return " ".join(WORDS.get(word, word) for word in re.split(r"[_.]", name))


def added_scores(
    groups: Sequence[str], values: np.ndarray, outputs: np.ndarray, *, watched: bool = False
) -> dict[str, float]:
    """The metrics of these groups that plugins added; `watched`: only those that a phase may watch."""
    added = [metric for metric in metrics_of(*groups) if metric.compute and (metric.watch or not watched)]
    return {metric.name: _computed(metric, values, outputs) for metric in added}


def _computed(metric: Metric, values: np.ndarray, outputs: np.ndarray) -> float:
    try:
        return float(metric.compute(values, outputs)) if metric.compute else 0.0
    except Exception as error:  # another package's code may raise anything
        raise PluginError(
            f"the metric '{metric.name}' cannot be computed: {type(error).__name__}: {error}; fix, update or uninstall "
            "the package that adds it"
        ) from error
