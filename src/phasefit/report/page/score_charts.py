"""Charts of how good a model is: predicted against true scores, and its reliability."""

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

NAME = 80  # characters of a level's name
DASHED = {"type": "dashed", "width": 1, "color": "@faint"}


def scatter_chart(errors: Sequence[ScoreError], limits: Limits) -> Chart:
    """Predicted scores against true ones, with their texts, and the line on which they agree."""
    points = [Point("a row", one.true, one.predicted, _tip(one, limits)) for one in errors]
    label = "Predicted scores against true ones, a point a row; on the dashed line they agree"
    columns = [Column("true", "number", 4), Column("predicted", "number", 4)]
    as_table = Table(columns, [[point.x, point.y] for point in points], "Predicted and true scores")
    chart = scatter_plot(points, "true score", "predicted score", label, as_table)
    ends = [value for point in points for value in (point.x, point.y)]
    diagonal = [[min(ends), min(ends)], [max(ends), max(ends)]]
    line = {"type": "line", "data": diagonal, "symbol": "none", "silent": True, "group": 0, "lineStyle": DASHED}
    option = {**chart.option, "series": [*chart.option["series"], line]}
    return replace(chart, option=option, groups=(), height=460, look="small")


def _tip(one: ScoreError, limits: Limits) -> list[str]:
    """A true and a predicted score in words; of levels their names too."""
    scores = f"true {one.true:.3g}, predicted {one.predicted:.3g}"
    if one.true_level is not None:
        true, predicted = (shortened(level, NAME) for level in (one.true_level, one.predicted_level))
        scores = f"true {true}, predicted {predicted} ({one.predicted:.3g})"
    return [scores, *(shortened(text, limits.hover) for text in one.texts)]


def reliability_chart(calibration: Calibration) -> Chart:
    """How often predictions of some confidence are right, against that confidence."""
    points = [(each.confidence, each.accuracy, *each.interval) for each in calibration.bins]
    ideal = Line("as it should be", [(0.0, 0.0), (1.0, 1.0)], "@faint", {"lineStyle": DASHED, "symbol": "none"})
    whole = {"min": 0, "max": 1}
    label = "Reliability diagram: the share of predictions that is right against how sure the model was, with intervals"
    lines, axes = [Line("share that is right", points), ideal], {"x": whole, "y": whole}
    return line_plot(lines, "confidence", "share that is right", label, height=380, small=True, axes=axes)
