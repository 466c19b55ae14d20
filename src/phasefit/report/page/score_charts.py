"""Charts of the results: predicted against true scores, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phasefit.report.facts.calibration import Calibration
from phasefit.report.facts.rows import ScoreError
from phasefit.report.limits import Limits
from phasefit.report.page.chart import Chart
from phasefit.report.page.parts import Column, Table
from phasefit.report.page.plots import Line, Point, line_plot, scatter_plot
from phasefit.report.text import shortened

NAME = 80  # most characters of a level name
DASHED = {"type": "dashed", "width": 1, "color": "@faint"}


def scatter_chart(errors: Sequence[ScoreError], limits: Limits) -> Chart:
    """Draw predicted against true scores, with their texts, and the line on which both are equal."""
    points = [Point("row", one.true, one.predicted, _tip(one, limits)) for one in errors]
    label = "Predicted against true scores, one point per row; on the dashed line both are equal"
    columns = [Column("true", "number", 4), Column("predicted", "number", 4)]
    as_table = Table(columns, [[point.x, point.y] for point in points], "Predicted and true scores")
    chart = scatter_plot(points, "true score", "predicted score", label, as_table)
    ends = [value for point in points for value in (point.x, point.y)]
    diagonal = [[min(ends), min(ends)], [max(ends), max(ends)]]
    line = {"type": "line", "data": diagonal, "symbol": "none", "silent": True, "group": 0, "lineStyle": DASHED}
    option = {**chart.option, "series": [*chart.option["series"], line]}
    return replace(chart, option=option, groups=(), height=460, layout="small")


def _tip(one: ScoreError, limits: Limits) -> list[str]:
    """Return the lines of a tooltip: the true and the predicted score (with levels, their names) and the texts."""
    scores = f"true {one.true:.3g}, predicted {one.predicted:.3g}"
    if one.true_level is not None:
        true, predicted = (shortened(level, NAME) for level in (one.true_level, one.predicted_level))
        scores = f"true {true}, predicted {predicted} ({one.predicted:.3g})"
    return [scores, *(shortened(text, limits.hover) for text in one.texts)]


def reliability_chart(calibration: Calibration) -> Chart:
    """Draw the accuracy of predictions against their confidence."""
    points = [(each.confidence, each.accuracy, *each.interval) for each in calibration.bins]
    ideal = Line("perfect calibration", [(0.0, 0.0), (1.0, 1.0)], "@faint", {"lineStyle": DASHED, "symbol": "none"})
    whole = {"min": 0, "max": 1}
    label = "Reliability diagram: accuracy against confidence, with 95 % intervals"
    lines, axes = [Line("accuracy", points), ideal], {"x": whole, "y": whole}
    return line_plot(lines, "confidence", "accuracy", label, height=380, small=True, axes=axes)
