"""Rows to look at: the most confident mistakes, the largest errors, and labels that are likely wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phasefit.data.labels import LabelSpace, ScoreLabels
from phasefit.data.table import Label, label_name
from phasefit.kinds import kind_of
from phasefit.metrics.label_errors import doubted_labels, doubted_sets
from phasefit.report.facts.held_out import HeldOut
from phasefit.report.limits import Limits
from phasefit.report.page.chart import Chart
from phasefit.report.page.html import Html, shortened, tag, user_text
from phasefit.report.page.parts import paragraph
from phasefit.report.page.plots import Point, scatter_plot
from phasefit.report.page.shell import Section
from phasefit.report.page.table import Cell, Column, Value, table

NAME = 80  # characters of a label
NO_LABEL = "(none)"
UNKNOWN = "What the model said of each row is not known: the run was stopped and resumed after it had been scored."
SUGGESTED = (
    "Suggestions, not verdicts: held-out rows whose own label the model finds less likely than usual for its class, "
    "while it is as sure of another class as it usually is (confident learning). Look before you change anything."
)
TEXT, ROW = Column("text", "long"), Column("row", "number", note="in the file, from 1")


def row_sections(held: Sequence[HeldOut], limits: Limits) -> list[Section]:
    """Mistakes of the last split, and doubted labels of all of them."""
    if not held:
        return [Section("Mistakes", [paragraph(UNKNOWN)]), Section("Labels to check", [paragraph(UNKNOWN)])]
    scored = held[-1]
    if kind_of(scored.space).answer == "number":
        lead = f"The {scored.split} rows whose predicted score is farthest from the true one."
        return [Section("Largest errors", [largest_errors(scored, limits)], lead)]
    lead = f"The {scored.split} rows that the model got wrong, the surest first."
    doubts, many = label_doubts(held, limits)
    told = f"{many:,} of {sum(len(one.table) for one in held):,} held-out rows. " if many else ""
    nothing = paragraph("No label of a held-out row is in doubt.")
    mistakes = confident_mistakes(scored, limits)
    return [
        Section("Mistakes", [mistakes or paragraph("There are none.")], lead if mistakes else ""),
        Section("Labels to check", [doubts or nothing], told + SUGGESTED),
    ]


def said_of(held: HeldOut, row: int, limits: Limits) -> Cell:
    """The texts of a row, one below the other."""
    texts = [user_text(text, limits.text) for text in held.texts(row)]
    return Cell(Html("".join([texts[0], *(tag("span", text, class_="pair") for text in texts[1:])])))


def named(label: Label) -> str:
    """A label as a table shows it."""
    return label_name(label) or NO_LABEL


def confident_mistakes(held: HeldOut, limits: Limits) -> Html:
    """The rows that are wrong, the most probable of the wrong answers first."""
    several = kind_of(held.space).answer == "set"
    found = _set_mistakes(held, limits) if several else _class_mistakes(held, limits)
    columns = [TEXT, Column("true"), Column("predicted"), Column("probability", "number", 3, bar=True), ROW]
    if several:
        columns.insert(3, Column("surest mistake"))
    return table(columns, found, "The most confident mistakes", longest=NAME) if found else Html()


def _class_mistakes(held: HeldOut, limits: Limits) -> list[list[Value | Cell]]:
    true, predicted = held.values, held.outputs.argmax(axis=1)
    sure = held.outputs.max(axis=1)
    wrong = np.flatnonzero(true != predicted)
    order = wrong[np.argsort(-sure[wrong], kind="stable")][: limits.rows]
    names, least = held.space.names, held.decision.reject_below
    rows: list[list[Value | Cell]] = []
    for row in order.tolist():
        withheld = " (withheld)" if sure[row] < least else ""
        answer = names[predicted[row]] + withheld
        rows.append([said_of(held, row, limits), names[true[row]], answer, float(sure[row]), held.number(row)])
    return rows


def _set_mistakes(held: HeldOut, limits: Limits) -> list[list[Value | Cell]]:
    """Of several labels: how sure it was of the wrong answer that it was surest of, a label too many or one missed."""
    true, said = held.values, held.outputs
    limit = np.full(said.shape[1], 0.5)
    limit[: len(held.decision.thresholds)] = held.decision.thresholds
    chosen = said >= limit
    doubt = np.where(true != chosen, np.where(chosen, said, 1 - said), -1.0)
    worst, label = doubt.max(axis=1), doubt.argmax(axis=1)
    order = np.argsort(-worst, kind="stable")[: limits.rows]
    names = held.space.names
    rows: list[list[Value | Cell]] = []
    for row in order[worst[order] >= 0].tolist():
        which = f"{names[label[row]]}, {'given' if chosen[row, label[row]] else 'missed'}"
        sets = (_set(names, true[row]), _set(names, chosen[row]))
        rows.append([said_of(held, row, limits), *sets, which, float(worst[row]), held.number(row)])
    return rows


def _set(names: Sequence[str], marked: np.ndarray) -> str:
    return ", ".join(names[code] for code in np.flatnonzero(marked).tolist()) or NO_LABEL


def label_doubts(held: Sequence[HeldOut], limits: Limits) -> tuple[Html, int]:
    """The labels that are likeliest to be wrong, over all held-out rows together, and how many are in doubt."""
    space = max((one.space for one in held), key=len)  # a later split may have labels that no other has
    width = len(space)
    several = kind_of(space).answer == "set"
    values = [np.pad(one.values, ((0, 0), (0, width - len(one.space)))) if several else one.values for one in held]
    said = [np.pad(one.outputs, ((0, 0), (0, width - one.outputs.shape[1]))) for one in held]
    given, likely = np.concatenate(values), np.concatenate(said)
    found = (doubted_sets if several else doubted_labels)(given, likely)
    where = [(one, row) for one in held for row in range(len(one.table))]
    rows: list[list[Value | Cell]] = []
    for row, better in zip(found.rows[: limits.rows].tolist(), found.better.tolist(), strict=False):
        one, place = where[row]
        told: list[Value | Cell] = [said_of(one, place, limits), named(one.labels[place])]
        if several:
            there = bool(given[row, better])
            sure = float(likely[row, better])
            told += [f"{'without' if there else 'with'} {space.names[better]}", 1 - sure if there else sure]
        else:
            told += [float(likely[row, given[row]]), space.names[better], float(likely[row, better])]
        rows.append([*told, one.split, one.number(place)])
    likelihood = Column("probability", "number", 3, bar=True)
    own = [] if several else [likelihood]
    columns = [TEXT, Column("label"), *own, Column("more likely"), likelihood, Column("split"), ROW]
    return (table(columns, rows, "Labels to check", longest=NAME) if rows else Html()), len(found.rows)


def largest_errors(held: HeldOut, limits: Limits) -> Html:
    """The scores that are farthest off; of levels by their names, with the score beside the one it is nearest to."""
    true, predicted = held.values.astype(np.float64), held.outputs[:, 0].astype(np.float64)
    order = np.argsort(-np.abs(predicted - true), kind="stable")[: limits.rows].tolist()
    levels = held.space if isinstance(held.space, ScoreLabels) and held.space.levels else None
    rows: list[list[Value | Cell]] = []
    for row in order:
        one, other = true[row].item(), predicted[row].item()
        said = [one, other] if levels is None else [_level(levels, one), _level(levels, other), other]
        rows.append([said_of(held, row, limits), *said, abs(other - one), held.number(row)])
    names = [] if levels is None else [Column("true"), Column("predicted")]
    numbers = ("true", "predicted", "error") if levels is None else ("score", "error")
    columns = [TEXT, *names, *(Column(name, "number", 3) for name in numbers), ROW]
    return table(columns, rows, "The largest errors", longest=NAME)


def _level(space: ScoreLabels, score: float) -> Cell:
    """The level that a score is nearest to; levels are sorted by their order."""
    return Cell(user_text(space.level_of(score), NAME), score)


def _told(space: LabelSpace, true: float, predicted: float) -> str:
    """A true and a predicted score in words; of levels their names too."""
    if isinstance(space, ScoreLabels) and space.levels:
        levels = [shortened(space.level_of(value), NAME) for value in (true, predicted)]
        return f"true {levels[0]}, predicted {levels[1]} ({predicted:.3g})"
    return f"true {true:.3g}, predicted {predicted:.3g}"


def score_scatter(points: Sequence[Sequence[float]], space: LabelSpace, held: HeldOut | None, limits: Limits) -> Html:
    """Predicted scores against true ones, with the texts where they are known."""
    shown = [Point("a row", true, predicted, [_told(space, true, predicted)]) for true, predicted in points]
    if held is not None:
        some = np.linspace(0, len(held.table) - 1, min(len(held.table), limits.points)).astype(int).tolist()
        true, predicted = held.values, held.outputs[:, 0]
        shown = [
            Point("a row", float(true[row]), float(predicted[row]),
                  [_told(space, float(true[row]), float(predicted[row])),
                   *(shortened(text, limits.hover) for text in held.texts(row))])
            for row in some
        ]  # fmt: skip
    label = "Predicted scores against true ones, a point a row; on the dashed line they agree"
    columns = [Column("true", "number", 4), Column("predicted", "number", 4)]
    as_table = table(columns, [[point.x, point.y] for point in shown], "Predicted and true scores")
    made = scatter_plot(shown, "true score", "predicted score", label, as_table)
    return _with_diagonal(made, shown).html()


def _with_diagonal(chart: Chart, points: Sequence[Point]) -> Chart:
    ends = [value for point in points for value in (point.x, point.y)]
    line = {
        "type": "line", "data": [[min(ends), min(ends)], [max(ends), max(ends)]], "symbol": "none", "silent": True,
        "group": 0, "lineStyle": {"type": "dashed", "width": 1, "color": "@faint"},
    }  # fmt: skip
    return Chart(
        {**chart.option, "series": [*chart.option["series"], line]}, chart.label, (), chart.table, 460, look="small"
    )
