"""Every metric: its name in `metrics.json`, title, direction, bounds and the label kinds it applies to.

A package adds one with `add(Metric(...))`, or with an entry point of the metric's name in the group `phasefit.metrics`.
Does not import torch.
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

# The group of a metric: a label kind, or one of these.
LEVELS = "levels"  # levels of a scale, which also have the metrics of scores
TASKS = "tasks"  # several tasks together
CLASS = "class"  # a single class
GEOMETRY = "geometry"  # embeddings
PHASE = "phase"  # what a phase can watch in addition to the metrics of its label kind

MEAN = "mean"  # the metric of several tasks together
INTERVAL = "_ci95"  # suffix of the name of a metric's 95 % interval

ONE = ("single", "tree")
CLASSES = (*ONE, "multi")
WORDS = {"f1": "F1", "roc": "ROC", "auc": "AUC", "ece": "ECE", "mse": "MSE", "mae": "MAE"}


@dataclass(frozen=True)
class Metric:
    """One metric.

    `compute` calculates the metric from the values of labels and a head's outputs; built-in metrics have none, because
    they are computed together. Values are codes (n,), bool (n, labels) for several labels per text, or floats (n,) for
    scores; outputs are probabilities (n, classes), or (n, 1) for scores.
    """

    name: str
    title: str
    of: tuple[str, ...]
    higher_is_better: bool | None = True  # None: no direction is better
    low: float = 0.0
    high: float = 1.0
    watch: bool = False  # whether a phase may watch it
    shown: bool = True  # on the card and the page
    undefined: float | None = None  # its value if it is not defined
    reading: str = ""  # how to read it, if its title does not explain it
    reading_without_labels: str = ""
    compute: Compute | None = None

    def better(self, new: float, old: float) -> bool:
        """Whether `new` is better than `old`; NaN never is."""
        return new < old if self.higher_is_better is False else new > old

    @property
    def worst(self) -> float:
        """A value that every other one is better than."""
        return inf if self.higher_is_better is False else -inf

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest possible value."""
        return self.low, self.high

    @property
    def is_share(self) -> bool:
        """Whether it is shown in per cent."""
        return self.high <= 1


_BUILT_IN = (  # in display order
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
    Metric("samples_f1", "mean F1 per text", ("multi",)),
    Metric("labels_per_text", "labels per text", ("multi",), None, high=inf),
    Metric("pearson", "Pearson correlation", ("score",), low=-1.0, watch=True, undefined=0.0),
    Metric("spearman", "Spearman correlation", ("score",), low=-1.0, watch=True, undefined=0.0),
    Metric("mse", "mean squared error", ("score",), False, high=inf, watch=True),
    Metric("mae", "mean absolute error", ("score",), False, high=inf, watch=True),
    Metric("r2", "R²", ("score",), low=-inf),
    Metric("quadratic_kappa", "quadratic kappa", (LEVELS,), low=-1.0, undefined=0.0),
    Metric(MEAN, "mean of the tasks", (TASKS,), low=-1.0),  # it may include a correlation
    Metric("log_loss", "log loss", CLASSES, False, high=inf, watch=True),
    Metric("ece", "calibration error", CLASSES, False),
    Metric("ece_uncalibrated", "calibration error before calibration", CLASSES, False),
    Metric("answered", "share of texts answered", ONE),
    Metric("accuracy_answered", "accuracy of answered texts", ONE),
    Metric("rows", "rows", (*CLASSES, "score"), None, high=inf),
    Metric("precision", "precision", (CLASS,)),
    Metric("recall", "recall", (CLASS,)),
    Metric("f1", "F1", (CLASS,)),
    Metric("support", "rows", (CLASS,), None, high=inf),
    Metric("texts", "texts", (GEOMETRY,), None, high=inf),
    # The objective on pairs of validation rows; in `geometry`, the number of pairs used for alignment.
    Metric("pairs", "pairs", (PHASE, GEOMETRY), False, low=-inf, high=inf),
    Metric(
        "alignment",
        "alignment",
        (GEOMETRY,),
        False,
        high=4.0,
        reading="squared distance within a class; lower: closer",
        reading_without_labels="squared distance within a pair; lower: closer",
    ),
    Metric(
        "uniformity",
        "uniformity",
        (GEOMETRY,),
        False,
        low=-8.0,
        high=0.0,
        reading="lower: more evenly spread; a classifier may raise it",
        reading_without_labels="how evenly texts are spread; lower: more evenly",
    ),
    Metric("within", "within", (GEOMETRY,), low=-1.0, reading="cosine within a class; higher: closer"),
    Metric("between", "between", (GEOMETRY,), False, low=-1.0, reading="cosine between classes; lower: further apart"),
    Metric("silhouette", "silhouette", (GEOMETRY,), low=-1.0, reading="1: separate classes, 0: touching, below: mixed"),
    Metric(
        "anisotropy",
        "anisotropy",
        (GEOMETRY,),
        False,
        low=-1.0,
        reading="cosine of any two texts; 1: all point the same way",
    ),
    Metric(
        "confidence_entropy",
        "confidence entropy",
        (*ONE, GEOMETRY),
        False,
        high=inf,
        shown=False,
        reading="bits; 0: certain, log2(classes): guessing",
    ),
    Metric("most_entropy", "entropy of a uniform guess", (GEOMETRY,), None, high=inf),
    Metric("probe", "probe (macro F1)", (PHASE,)),
    Metric("probe_accuracy", "probe accuracy", (PHASE,)),
    Metric("loss", "loss", (PHASE,), False, low=-inf, high=inf),
    Metric("reconstruction", "reconstruction", (PHASE,), False, high=inf),
)
METRICS: Registry[Metric] = Registry(
    "metric", "phasefit.metrics", entries={metric.name: metric for metric in _BUILT_IN}, base=Metric
)


def add(metric: Metric) -> Metric:
    """Register a metric under its name."""
    return METRICS.add(metric.name, metric)


def metrics_of(*groups: str) -> list[Metric]:
    """The metrics of these groups (label kinds or other parts of `metrics.json`), in display order."""
    return [metric for metric in METRICS.values() if any(group in metric.of for group in groups)]


def watchable_names(*groups: str) -> tuple[str, ...]:
    """The names of the metrics of these groups that a phase may watch."""
    return tuple(metric.name for metric in metrics_of(*groups) if metric.watch)


def watchable(name: str) -> Metric:
    """The metric with this name; raises a RecipeError with the nearest name if no such metric can be watched."""
    known = [metric.name for metric in METRICS.values() if metric.watch]
    if name not in known and name != "auto":
        raise RecipeError(f"unknown metric '{name}' to watch; {did_you_mean(name, known)}")
    return metric_at(name)


def comparable_names(*groups: str) -> tuple[str, ...]:
    """The metrics that runs can be compared by: those of these groups (default: all label kinds) with a direction."""
    chosen = metrics_of(*groups) if groups else [one for one in METRICS.values() if not {*one.of} <= {GEOMETRY, PHASE}]
    return tuple(metric.name for metric in chosen if metric.higher_is_better is not None)


def titles() -> dict[str, str]:
    """The titles of the metrics that are shown for a split, by name and in order."""
    return {metric.name: metric.title for metric in METRICS.values() if metric.shown}


def metric_at(path: str) -> Metric:
    """The metric at a path such as `test.levels.0.accuracy`; for several paths, that of the first.

    An unregistered metric is assumed to be between 0 and 1, higher being better.
    """
    name = leaf(path)
    return METRICS[name] if name in METRICS else Metric(name, spelled(name), ())


def leaf(path: str) -> str:
    """`test.levels.0.accuracy` -> accuracy; for several paths, that of the first."""
    return path.split(",")[0].rpartition(".")[2].strip()


def spelled(name: str) -> str:
    """`macro_f1` -> macro F1, `sst.macro_f1` -> sst macro F1."""
    return " ".join(WORDS.get(word, word) for word in re.split(r"[_.]", name))


def added_scores(
    groups: Sequence[str], values: np.ndarray, outputs: np.ndarray, *, watched: bool = False
) -> dict[str, float]:
    """The values of the metrics of these groups that plugins added; `watched`: only those that a phase may watch."""
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
