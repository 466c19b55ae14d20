"""How good a run is: headline figures, all scores, confusion matrix, classes, reliability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phasefit.kinds import kind_of_metrics
from phasefit.metrics.registry import METRICS, titles
from phasefit.report.facts.calibration import Calibration
from phasefit.report.facts.classes import class_scores, weakest
from phasefit.report.facts.confusion import Confusion
from phasefit.report.limits import MOST_IN_MATRIX, Limits
from phasefit.report.page.html import Html
from phasefit.report.page.matrix import confusion
from phasefit.report.page.parts import Figure, figures, paragraph, unfolded
from phasefit.report.page.plots import Line, line_plot
from phasefit.report.page.shell import Section
from phasefit.report.page.table import Cell, Column, Value, table

Scores = Mapping[str, Any]

NAME = 80  # characters of a class's name


def score_figures(scored: Scores) -> list[Figure]:
    """What counts first, by the kind of the labels."""
    headline = [METRICS[name] for name in kind_of_metrics(scored).headline if _has(scored, name)]
    shown = [Figure(one.title, f"{scored[one.name]:.3f}", _interval(scored, one.name)) for one in headline]
    rows = scored.get("rows")
    return [*shown, *([Figure("rows", f"{rows:,}")] if rows is not None else [])]


def result(scored: Mapping[str, Scores], split: str) -> list[Html]:
    """The headline figures of a split, and all scores of all splits to unfold."""
    said = f"Scored on {split} rows, which no phase was trained on."
    if split == "validation":
        said += " They chose the weights that were kept, so that the scores are a little too good."
    where = paragraph(said + " The line below a figure is its 95\u00a0% interval.", quiet=True)
    return [figures(score_figures(scored[split])), where, unfolded("All scores", all_scores(scored))]


def all_scores(scored: Mapping[str, Scores]) -> Html:
    """Every score, a column a split."""
    columns = [Column("score"), *(Column(split, "number") for split in scored)]
    rows: list[list[Value | Cell]] = []
    names = titles()
    for key, title in names.items():
        if any(_has(one, key) for one in scored.values()):
            rows.append([title, *(_cell(one, key) for one in scored.values())])
    for level in range(max((len(one.get("levels", ())) for one in scored.values()), default=0)):
        splits = [one.get("levels", [])[level : level + 1] for one in scored.values()]
        for key in dict.fromkeys(key for split in splits for scores in split for key in scores):
            cells = [_cell(split[0], key) if split else None for split in splits]
            rows.append([f"{names[key]} at level {level + 1}", *cells])
    return table(columns, rows, "All scores", sortable=False)


def _cell(scored: Scores, key: str) -> Cell | None:
    if not _has(scored, key):
        return None
    value, span = scored[key], _interval(scored, key)
    said = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
    return Cell(said if span is None else f"{said} ({span[0]:.4f} to {span[1]:.4f})", value)


def _has(scored: Scores, key: str) -> bool:
    return isinstance(scored.get(key), int | float)


def _interval(scored: Scores, key: str) -> tuple[float, float] | None:
    found = scored.get(f"{key}_ci95")
    return (float(found[0]), float(found[1])) if found else None


def score_sections(scored: Scores, split: str, limits: Limits) -> list[Section]:
    """Confusion, classes and reliability, each where there are data for it."""
    sections = []
    if known := scored.get("confusion"):
        many = len(known["labels"]) > MOST_IN_MATRIX
        lead = "Who is taken for whom most often." if many else (
            "A row is a true class, a column a predicted one: blue is right, orange wrong, darker is more of the class."
        )  # fmt: skip
        sections.append(Section("Confusion", [confusion(Confusion.of(known), limits.rows)], lead))
    if classes := scored.get("per_class"):
        sections.append(Section("Classes", class_table(classes, split, limits)))
    if bins := scored.get("calibration"):
        facts = Calibration.of(bins)
        sections.append(Section("Reliability", [reliability(facts)], facts.verdict.replace("\n", " ")))
    return sections


def class_table(classes: Mapping[str, Scores], split: str, limits: Limits) -> list[Html]:
    """Precision, recall and F1 of each class; of very many, the weakest."""
    known = class_scores(classes)
    shown = weakest(known)[: limits.classes] if len(known) > limits.classes else known
    rows: list[list[Value | Cell]] = [[one.name, one.precision, one.recall, one.f1, one.support] for one in shown]
    scores = [Column(name, "number", 3, bar=True) for name in ("precision", "recall", "F1")]
    drawn = table(
        [Column("class"), *scores, Column("rows", "number")], rows, f"Scores of each class, {split}", longest=NAME
    )
    if len(classes) <= limits.classes:
        return [drawn]
    return [
        paragraph(f"The {limits.classes:,} weakest of {len(classes):,} classes; metrics.json has all.", quiet=True),
        drawn,
    ]


def reliability(calibration: Calibration) -> Html:
    """How often predictions of some confidence are right, against that confidence."""
    points = [(each.confidence, each.accuracy, *each.interval) for each in calibration.bins]
    should = {"lineStyle": {"type": "dashed", "width": 1, "color": "@faint"}, "symbol": "none"}
    lines = [Line("share that is right", points), Line("as it should be", [(0.0, 0.0), (1.0, 1.0)], "@faint", should)]
    whole = {"min": 0, "max": 1}
    label = "Reliability diagram: the share of predictions that is right against how sure the model was, with intervals"
    axes = {"x": whole, "y": whole}
    return line_plot(lines, "confidence", "share that is right", label, height=380, small=True, axes=axes).html()
