"""Rows worth checking: the most confident mistakes, the largest errors, and labels that are probably wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.table import label_name
from phasefit.kinds import kind_of
from phasefit.metrics.label_errors import doubted_labels, doubted_sets
from phasefit.report.facts.held_out import HeldOut

NO_LABEL = "(none)"


@dataclass(frozen=True)
class Mistake:
    """A row that the model got wrong; with several labels, `label` is the most confident mistake."""

    texts: tuple[str, ...]
    true: str
    predicted: str
    probability: float
    row: int  # in the table that was read, starting at 1
    label: str = ""


@dataclass(frozen=True)
class Doubt:
    """A label that is probably wrong, and a more probable one."""

    texts: tuple[str, ...]
    label: str
    probability: float | None  # of the label; None with several labels
    better: str
    better_probability: float
    split: str
    row: int


@dataclass(frozen=True)
class ScoreError:
    """A true and a predicted score; with levels, also the names of the nearest levels."""

    texts: tuple[str, ...]
    true: float
    predicted: float
    row: int
    true_level: str | None = None
    predicted_level: str | None = None

    @property
    def error(self) -> float:
        """The absolute error of the prediction."""
        return abs(self.predicted - self.true)


def mistakes(held: HeldOut, most: int) -> list[Mistake]:
    """Return the rows that the model got wrong, the most confident mistake first."""
    return _set_mistakes(held, most) if kind_of(held.space).answer == "set" else _class_mistakes(held, most)


def _class_mistakes(held: HeldOut, most: int) -> list[Mistake]:
    true, predicted = held.values, held.outputs.argmax(axis=1)
    sure = held.outputs.max(axis=1)
    wrong = np.flatnonzero(true != predicted)
    order = wrong[np.argsort(-sure[wrong], kind="stable")][:most]
    names, least = held.space.names, held.decision.reject_below
    rows = []
    for row in order.tolist():
        withheld = " (withheld)" if sure[row] < least else ""
        answer = names[predicted[row]] + withheld
        rows.append(Mistake(held.texts(row), names[true[row]], answer, float(sure[row]), held.number(row)))
    return rows


def _set_mistakes(held: HeldOut, most: int) -> list[Mistake]:
    """Return mistakes with several labels, ranked by the most confident wrong label: wrongly predicted or missed."""
    true, outputs = held.values, held.outputs
    limit = np.full(outputs.shape[1], 0.5)
    limit[: len(held.decision.thresholds)] = held.decision.thresholds
    chosen = outputs >= limit
    doubt = np.where(true != chosen, np.where(chosen, outputs, 1 - outputs), -1.0)
    worst, label = doubt.max(axis=1), doubt.argmax(axis=1)
    order = np.argsort(-worst, kind="stable")[:most]
    names = held.space.names
    rows = []
    for row in order[worst[order] >= 0].tolist():
        mistake = f"{names[label[row]]}, {'wrongly predicted' if chosen[row, label[row]] else 'missed'}"
        sets = (_set(names, true[row]), _set(names, chosen[row]))
        rows.append(Mistake(held.texts(row), *sets, float(worst[row]), held.number(row), mistake))
    return rows


def _set(names: Sequence[str], marked: np.ndarray) -> str:
    return ", ".join(names[code] for code in np.flatnonzero(marked).tolist()) or NO_LABEL


def label_doubts(held: Sequence[HeldOut], most: int) -> tuple[list[Doubt], int]:
    """Return the labels of held-out rows that are most probably wrong, and the number of all doubtful labels."""
    space = max((one.space for one in held), key=len)  # a later split may have additional labels
    width = len(space)
    several = kind_of(space).answer == "set"
    values = [np.pad(one.values, ((0, 0), (0, width - len(one.space)))) if several else one.values for one in held]
    outputs = [np.pad(one.outputs, ((0, 0), (0, width - one.outputs.shape[1]))) for one in held]
    given, likely = np.concatenate(values), np.concatenate(outputs)
    doubted = (doubted_sets if several else doubted_labels)(given, likely)
    where = [(one, row) for one in held for row in range(len(one.table))]
    rows = []
    for row, better in zip(doubted.rows[:most].tolist(), doubted.better.tolist(), strict=False):
        one, place = where[row]
        sure, name, own = float(likely[row, better]), space.names[better], None
        if not several:
            own = float(likely[row, given[row]])
        elif given[row, better]:
            sure, name = 1 - sure, f"without {name}"
        else:
            name = f"with {name}"
        label = label_name(one.labels[place]) or NO_LABEL
        rows.append(Doubt(one.texts(place), label, own, name, sure, one.split, one.number(place)))
    return rows, len(doubted.rows)


def largest_errors(held: HeldOut, most: int) -> list[ScoreError]:
    """Return the rows with the largest errors."""
    order = np.argsort(-np.abs(held.outputs[:, 0].astype(np.float64) - held.values), kind="stable")
    return [_score_error(held, row) for row in order[:most].tolist()]


def score_errors(held: HeldOut, most: int) -> list[ScoreError]:
    """Return all rows, or at most `most` evenly spaced ones."""
    rows = np.linspace(0, len(held.table) - 1, min(len(held.table), most)).astype(int)
    return [_score_error(held, row) for row in rows.tolist()]


def _score_error(held: HeldOut, row: int) -> ScoreError:
    true, predicted = float(held.values[row]), float(held.outputs[row, 0])
    return ScoreError(held.texts(row), true, predicted, held.number(row), *levels_of(held.space, true, predicted))


def levels_of(space: LabelSpace, *scores: float) -> list[str]:
    """Return the names of the levels nearest to the scores; empty without levels."""
    return [space.name(score) for score in scores] if len(space) else []
