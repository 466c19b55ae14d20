"""Compare an exported folder with the model in torch, row by row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phasefit.data.labels import LabelSpace, ScoreLabels
from phasefit.data.table import Table
from phasefit.export.figures import MOST_DIFFERENCE, Figures, Precision, TaskFigures
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.runs.evaluation.score import score_outputs

if TYPE_CHECKING:
    from phasefit.models.exported import ExportedModel
    from phasefit.models.model import Model
MOST_EMBEDDED = 200  # texts
SCORE_STEP = 0.05  # int8: scores that differ by at most this many standard deviations count as equal decisions
WILD = (
    "",
    " \t\n ",
    "a",
    "long text " * 1000,
    "x" * 1000,
    "naïve café, Straße; ﬁne e\u0301",
    "我今天很高兴 日本語のテキスト 한국어",
    "مرحبا بالعالم שלום",
    "🙂👩‍👩‍👧 \U0001f1e9\U0001f1ea",
    "\x00\x07 control \u200b zero \u202e width",
    "[CLS] [SEP] [MASK] <s> </s> {text}",
    "https://example.org/?q=1&r=2 1,234.56 % $$$",
)


def compare(model: Model, exported: ExportedModel, checked: Mapping[str, Table], precision: Precision) -> Figures:
    """All figures but the speed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts are cut on purpose
        tasks = {task: _task(model, exported, task, checked[task], precision) for task in model.heads}
        texts = [text for table in checked.values() for text in table.texts]
        own = texts[:: max(1, len(texts) // MOST_EMBEDDED)][:MOST_EMBEDDED]
        texts = [*own, *WILD]
        ours, theirs = model.embed(texts), exported.embed(texts)
        wild = [_wild(model, exported, task) for task in model.heads]
    scale = max(1.0, float(np.abs(ours).max()))
    return Figures(
        precision,
        tasks,
        len(texts),
        _largest(ours, theirs) / scale,
        float(_cosines(ours[: len(own)], theirs[: len(own)]).mean()),
        len(WILD),
        max(wild, default=0.0),
    )


def _task(model: Model, exported: ExportedModel, task: str, table: Table, precision: Precision) -> TaskFigures:
    space, decision = model.space_of(task), model.decision(task)
    ours, theirs = model.predict_outputs(table.inputs, task=task), exported.predict_outputs(table.inputs, task=task)
    difference = _largest(ours, theirs) / _unit(space)
    step = SCORE_STEP if precision == "int8" else MOST_DIFFERENCE
    equal, ties = same_decisions(space, decision, ours, theirs, step)
    figures: dict[str, Any] = {}
    if table.labels is not None:
        metric = kind_of(space).judged
        scores = [score_outputs(space, decision, table, outputs).get(metric) for outputs in (ours, theirs)]
        if all(isinstance(score, float | int) and np.isfinite(score) for score in scores):
            figures = {"metric": metric, "labelled": len(table), "before": scores[0], "after": scores[1]}
    return TaskFigures(len(table), difference, int(equal.sum()), int((ties & ~equal).sum()), **figures)


def _wild(model: Model, exported: ExportedModel, task: str) -> float:
    inputs: Sequence[Any] = WILD
    if model.head(task).pair is not None:
        inputs = list(zip(WILD, [*WILD[1:], WILD[0]], strict=True))
    ours, theirs = model.predict_outputs(inputs, task=task), exported.predict_outputs(inputs, task=task)
    return _largest(ours, theirs) / _unit(model.space_of(task))


def same_decisions(
    space: LabelSpace, decision: Decision, ours: np.ndarray, theirs: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows get the same decision, and in which torch itself is within the tolerance of both decisions.

    `step` is how far scores without levels may differ, in standard deviations.
    """
    close = MOST_DIFFERENCE
    if space.kind == "multi":
        thresholds = np.asarray(decision.thresholds) if decision.thresholds else 0.5
        other = decision.chosen(ours) != decision.chosen(theirs)
        return ~other.any(axis=1), (~other | (np.abs(ours - thresholds) <= close)).all(axis=1)
    if space.kind == "score":
        scale = cast(ScoreLabels, space)
        if not scale.levels:
            same = np.abs(ours - theirs)[:, 0] / scale.spread <= step
            return same, np.zeros(len(ours), dtype=bool)
        levels = [[scale.level_of(score) for score in outputs[:, 0].tolist()] for outputs in (ours, theirs)]
        border = np.abs(ours[:, 0] - np.floor(ours[:, 0]) - 0.5) <= close * scale.spread
        return np.array([one == two for one, two in zip(*levels, strict=True)], dtype=bool), border
    ranked = np.sort(ours, axis=1)[:, ::-1]
    second = ranked[:, 1] if ranked.shape[1] > 1 else np.full(len(ours), -np.inf)
    near = (ranked[:, 0] - second <= 2 * close) | (np.abs(ranked[:, 0] - decision.reject_below) <= close)
    return decision.answers(ours) == decision.answers(theirs), near


def _unit(space: LabelSpace) -> float:
    """What differences are measured in: probabilities as they are, scores in standard deviations."""
    return cast(ScoreLabels, space).spread if space.kind == "score" else 1.0


def _largest(ours: np.ndarray, theirs: np.ndarray) -> float:
    difference = np.abs(ours.astype(np.float64) - theirs)
    return float(difference.max(initial=0.0)) if np.isfinite(difference).all() else float("nan")


def _cosines(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return np.asarray((ours * theirs).sum(axis=1) / np.maximum(norms, 1e-12))
