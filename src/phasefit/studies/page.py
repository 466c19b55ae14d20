"""The page of a study, `report.html`, from plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phasefit.report.page.chart import Chart
from phasefit.report.page.parts import Column, Figure, Table
from phasefit.report.page.plots import Line, Point, Spot, interval_plot, line_plot, scatter_plot
from phasefit.report.page.shell import Page, Section, section, write_page
from phasefit.studies.claim_verdicts import EXPLAINED
from phasefit.studies.formats import metric_name
from phasefit.studies.verdict import NO_EVIDENCE, Evidence, verdicts

Content = Mapping[str, Any]
PUBLISHED = "published"
MOST_CELLS = 2000  # shown; results.json has them all
LONGEST = 300


def write_study_page(path: Path, content: Content, evidence: Evidence = NO_EVIDENCE) -> None:
    """Write a study (see `page_content`) as one self-contained page."""
    write_page(path, study_page(content, evidence))


def study_page(content: Content, evidence: Evidence = NO_EVIDENCE) -> Page:
    """Headlines, one section per table, score against minutes, figures, runs, and the command."""
    tables: Sequence[Content] = content.get("tables") or ()
    cells: Sequence[Content] = content.get("cells") or ()
    figures = {one["title"]: _figure_chart(one) for one in content.get("curves") or ()}
    sections = [
        section("Result", "study/result.html", figures=_figures(content), headlines=verdicts(tables, evidence)),
        section("Claims", "study/claims.html", claims=content.get("claims") or (), note=EXPLAINED),
        *(_table_section(one, several=len(tables) > 1) for one in tables),
        section("Cost", "study/cost.html", charts=_cost_charts(content)),
        section("Figures", "study/figures.html", charts=figures),
        section("All runs", "study/cells.html", cells=cells[:MOST_CELLS], total=len(cells)),
        section("Notes", "notes.html", notes=content.get("notes") or ()),
        section("Environment", "environment.html", environment=content.get("environment") or {}),
        section("Reproduce", "command.html", command=str(content.get("command") or "")),
    ]
    return Page(str(content["title"]), f"A study, scored by {_spelled(content.get('metric', ''))}", sections)


def _figures(content: Content) -> list[Figure]:
    rows = [row for one in content.get("tables") or () for row in one["rows"]]
    counted = {"datasets": _distinct(rows, "dataset"), "variants": _distinct(rows, "variant")}
    cells: Sequence[Content] = content.get("cells") or ()
    shown = [Figure(name, f"{count:,}") for name, count in {**counted, "training runs": len(cells)}.items() if count]
    minutes = sum(cell.get("minutes") or 0.0 for cell in cells)
    time = f"{minutes:,.0f} min" if minutes >= 10 else f"{minutes:,.1f} min"
    return [*shown, *([Figure("training time", time)] if minutes else [])]


def _distinct(rows: Iterable[Content], key: str) -> int:
    return len({row[key] for row in rows})


def _with_spans(row: Content) -> dict[str, Any]:
    """A row with each interval as one cell, and signed differences."""
    spans = {}
    if _has(row, "low", "high"):
        spans["interval"] = f"{row['low']:.4f} to {row['high']:.4f}"
    if _has(row, "difference"):
        spans["signed_difference"] = f"{row['difference']:+.4f}"
    if _has(row, "difference_low", "difference_high"):
        spans["difference_interval"] = f"{row['difference_low']:+.4f} to {row['difference_high']:+.4f}"
    return {**row, **spans}


def _table_section(one: Content, *, several: bool) -> Section:
    rows: Sequence[Content] = one["rows"]
    labels: Mapping[str, str] = one.get("labels") or {}
    spots = [
        Spot(
            labels.get(row["dataset"], row["dataset"]),
            row["variant"],
            row["mean"],
            row.get("low"),
            row.get("high"),
            row.get("published"),
        )
        for row in rows
        if row.get("mean") is not None
    ]
    metric, published = _spelled(one["metric"]), _published(rows)
    label = f"{one['title']}: {metric} of each variant with its 95 % interval, by dataset"
    chart = interval_plot(spots, metric, label, published) if spots else None
    lines = [
        {**_with_spans(row), "dataset": labels.get(row["dataset"], row["dataset"])}
        for row in (*rows, *(one.get("overall") or ()))
    ]
    shown = {"note": one.get("note"), "rows": lines, "chart": chart, "published": published}
    return section(one["title"] if several else "Scores", "study/table.html", caption=one["title"], **shown)


def _published(rows: Sequence[Content]) -> str:
    return PUBLISHED if any(row.get("published") is not None for row in rows) else ""


def _cost_charts(content: Content) -> dict[str, Chart]:
    """By dataset the score against minutes, of every run; of the means if the runs are unknown."""
    known = [cell for cell in content.get("cells") or () if _has(cell, "score", "minutes")]
    means = [row for one in content.get("tables") or () for row in one["rows"] if _has(row, "mean", "minutes")]
    shown = [(cell, cell["score"]) for cell in known] or [(row, row["mean"]) for row in means]
    metric = _spelled(content.get("metric", "score"))
    labels = {name: label for one in content.get("tables") or () for name, label in (one.get("labels") or {}).items()}
    by_dataset: dict[str, list[Point]] = {}
    for row, score in shown:
        point = Point(row["variant"], row["minutes"], score, [row["variant"], *_tip(row, metric, score)])
        by_dataset.setdefault(labels.get(row["dataset"], row["dataset"]), []).append(point)
    return {dataset: _cost_chart(dataset, metric, points) for dataset, points in by_dataset.items()}


def _cost_chart(dataset: str, metric: str, points: Sequence[Point]) -> Chart:
    columns = [Column("variant"), Column("minutes", "number", 2), Column(metric, "number", 4)]
    rows = [(point.group, point.x, point.y) for point in points]
    as_table = Table(columns, rows, f"{metric} against minutes, {dataset}", LONGEST)
    label = f"{metric} against minutes of training on {dataset}, one point per run"
    least, most = min(point.x for point in points), max(point.x for point in points)
    return scatter_plot(points, "minutes", metric, label, as_table, log=0 < 20 * least < most)


def _spelled(metric: object) -> str:
    """A path into metrics.json spelled out; any other name unchanged."""
    return metric_name(str(metric)) if "." in str(metric) else str(metric)


def _has(row: Content, *keys: str) -> bool:
    return all(row.get(key) is not None for key in keys)


def _tip(row: Content, metric: str, score: float) -> list[str]:
    repetition = [f"{key} {row[key]}" for key in ("seed", "fold") if row.get(key) is not None]
    return [f"{metric} {score:.4f}", f"{row['minutes']:.2f} minutes", *repetition]


def _figure_chart(figure: Content) -> Chart:
    """Lines, or scores with intervals."""
    return _score_chart(figure) if "spots" in figure else _curve_chart(figure)


def _score_chart(figure: Content) -> Chart:
    names = ("dataset", "variant", "mean", "low", "high", "published")
    spots = [Spot(*(one[name] for name in names)) for one in figure["spots"]]
    label = f"{figure['title']}: {figure['x_title']} of each variant with its 95 % interval, by dataset"
    return interval_plot(spots, figure["x_title"], label, _published(figure["spots"]))


def _curve_chart(curve: Content) -> Chart:
    lines = [Line(line["name"], line["points"]) for line in curve["lines"]]
    label = f"{curve['title']}: {curve['y_title']} over {curve['x_title']}"
    return line_plot(lines, curve["x_title"], curve["y_title"], label)
