"""The page of a study: `report.html` out of the plain data that a study is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phasefit.report.page import (
    Cell,
    Column,
    Figure,
    Html,
    Page,
    Section,
    code,
    facts,
    figures,
    notes,
    paragraph,
    side_by_side,
    table,
    titled,
    unfolded,
    write_page,
)
from phasefit.report.page.plots import Line, Point, Spot, interval_plot, line_plot, scatter_plot
from phasefit.report.page.table import Value
from phasefit.studies.formats import metric_name

Content = Mapping[str, Any]
PUBLISHED = "published"
MOST_CELLS = 2000  # shown; results.json has them all
LONGEST = 300


def write_study_page(path: Path, content: Content) -> None:
    """Write a study (see `page_content`) as one self-contained page."""
    write_page(path, study_page(content))


def study_page(content: Content) -> Page:
    """The headline, a section a table, accuracy against minutes, curves, cells, and how to repeat it."""
    tables: Sequence[Content] = content.get("tables") or ()
    several = len(tables) > 1
    sections = [
        Section("Result", [figures(_headline_figures(content)), *map(paragraph, _headlines(tables))]),
        *(_table_section(one, several) for one in tables),
        Section("Cost", _costs(content), "Each point is one training run: its score and the minutes that it took."),
        Section("Curves", [side_by_side(*map(_curves, content.get("curves") or ()))]),
        Section("Every run", _cells(content.get("cells") or ())),
        Section("Notes", [notes(list(content.get("notes") or ()))]),
        Section("Environment", [facts(content.get("environment") or {})]),
        Section("Repeat it", [code(str(content.get("command") or ""), "the command")]),
    ]
    return Page(str(content["title"]), f"A study, measured by {_said(content.get('metric', ''))}", sections)


def _headline_figures(content: Content) -> list[Figure]:
    rows = [row for one in content.get("tables") or () for row in one["rows"]]
    counted = {"datasets": _different(rows, "dataset"), "variants": _different(rows, "variant")}
    cells: Sequence[Content] = content.get("cells") or ()
    shown = [Figure(name, f"{count:,}") for name, count in counted.items() if count]
    shown += [Figure("training runs", f"{len(cells):,}")] if cells else []
    minutes = sum(cell.get("minutes") or 0.0 for cell in cells)
    return shown + (
        [Figure("of training", f"{minutes:,.0f} min" if minutes >= 10 else f"{minutes:,.1f} min")] if minutes else []
    )


def _different(rows: Iterable[Content], key: str) -> int:
    return len({row[key] for row in rows})


def _headlines(tables: Sequence[Content]) -> list[str]:
    """For each dataset which variant leads, and whether the difference to the others is more than chance."""
    said = []
    for one in tables:
        of = f"{one['title']}: " if len(tables) > 1 else ""
        for dataset in dict.fromkeys(row["dataset"] for row in one["rows"]):
            rows = [row for row in one["rows"] if row["dataset"] == dataset and row.get("mean") is not None]
            if rows:
                said.append(of + _leader(dataset, rows))
    return said


def _leader(dataset: str, rows: Sequence[Content]) -> str:
    ranked = all(row.get("rank") is not None for row in rows)  # scores that are better when lower know their ranks
    best = min(rows, key=lambda row: row["rank"]) if ranked else max(rows, key=lambda row: row["mean"])
    lead = f"On {dataset}, {best['variant']} leads with {best['mean']:.4f}"
    first = [row["variant"] for row in rows if row["mean"] == best["mean"]]
    if len(first) > 1:
        return f"On {dataset}, {', '.join(first[:-1])} and {first[-1]} come to the same {best['mean']:.4f}."
    if len(rows) == 1:
        return f"On {dataset}, {best['variant']} reaches {best['mean']:.4f}."
    return f"{lead}; {_difference(best, rows)}."


def _difference(best: Content, rows: Sequence[Content]) -> str:
    """What is known of the difference between the leader and what all are compared with."""
    if best.get("difference") is not None:
        return f"its difference of {best['difference']:+.4f} to {rows[0]['variant']} {_real(best)}"
    compared = [row for row in rows if row is not best and row.get("difference") is not None]
    if not compared:
        return "whether that is more than chance was not tested"
    real = [row for row in compared if _is_real(row)]
    return f"{len(real)} of {len(compared)} others differ from it by more than chance"


def _is_real(row: Content) -> bool:
    """Whether p, which knows how many were compared, is small; without it, whether the interval leaves out zero."""
    low, high, p = row.get("difference_low"), row.get("difference_high"), row.get("p")
    if p is not None:
        return bool(p < 0.05)
    return low is not None and high is not None and bool(low > 0 or high < 0)


def _real(row: Content) -> str:
    low, high, p = row.get("difference_low"), row.get("difference_high"), row.get("p")
    known = [] if low is None or high is None else [f"95 % interval {low:+.4f} to {high:+.4f}"]
    known += [] if p is None else [f"p = {p:.3g}"]
    if not known:
        return "was not tested"
    return f"is {'more than chance' if _is_real(row) else 'within what chance does'} ({', '.join(known)})"


INTERVAL = "95 % interval"
_COLUMNS: dict[str, Column] = {
    "dataset": Column("dataset"),
    "variant": Column("variant"),
    "n": Column("runs", "number"),
    "mean": Column("mean", "number", 4),
    "interval": Column(INTERVAL, "number", note="of the mean; sorted by its lower end"),
    "sd": Column("sd", "number", 4, note="standard deviation over runs"),
    "difference": Column("difference", "number", note="to the baseline, run by run"),
    "difference_interval": Column(f"its {INTERVAL}", "number", note="sorted by its lower end"),
    "p": Column("p", "number", 4),
    "rank": Column("rank", "number", 1),
    "minutes": Column("minutes", "number", 2),
    "memory_mb": Column("memory, MB", "number"),
    "published": Column("published", "number", 4),
    "published_model": Column("published for"),
    "note": Column("note"),
}


def _with_spans(row: Content) -> dict[str, Any]:
    """A row with its intervals as one cell each, and signs where they matter."""
    found = dict(row)
    if _has(row, "low", "high"):
        found["interval"] = Cell(f"{row['low']:.4f} to {row['high']:.4f}", row["low"])
    if _has(row, "difference"):
        found["difference"] = Cell(f"{row['difference']:+.4f}", row["difference"])
    if _has(row, "difference_low", "difference_high"):
        low, high = row["difference_low"], row["difference_high"]
        found["difference_interval"] = Cell(f"{low:+.4f} to {high:+.4f}", low)
    return found


def _table_section(one: Content, several: bool) -> Section:
    rows: Sequence[Content] = one["rows"]
    spots = [
        Spot(row["dataset"], row["variant"], row["mean"], row.get("low"), row.get("high"), row.get("published"))
        for row in rows
        if row.get("mean") is not None
    ]
    metric = _said(one["metric"])
    label = f"{one['title']}: {metric} of each variant with its 95 % interval, by dataset"
    plot = interval_plot(spots, metric, label, _elsewhere(rows)).html() if spots else Html()
    lead = "Dots are means over runs, lines their 95 % intervals"
    lead += ", hollow marks the published figures." if _elsewhere(rows) else "."
    return Section(
        one["title"] if several else "Scores",
        [_shown(_COLUMNS, list(map(_with_spans, [*rows, *(one.get("overall") or ())])), one["title"]), plot],
        f"{lead} {one.get('note') or ''}".strip(),
    )


def _elsewhere(rows: Sequence[Content]) -> str:
    return PUBLISHED if any(row.get("published") is not None for row in rows) else ""


def _shown(columns: Mapping[str, Column], rows: Sequence[Content], caption: str) -> Html:
    """A table of the columns that any row has something in."""
    known = [key for key in columns if any(row.get(key) not in (None, "") for row in rows)]
    cells = [[row.get(key) for key in known] for row in rows]
    return table([columns[key] for key in known], cells, caption, longest=LONGEST) if rows else Html()


def _costs(content: Content) -> list[Html]:
    """Score against minutes, of every run; where the runs are not known, of the means."""
    known = [cell for cell in content.get("cells") or () if _has(cell, "score", "minutes")]
    means = [row for one in content.get("tables") or () for row in one["rows"] if _has(row, "mean", "minutes")]
    shown = [(cell, cell["score"]) for cell in known] or [(row, row["mean"]) for row in means]
    metric, plots = _said(content.get("metric", "score")), []
    datasets = list(dict.fromkeys(row["dataset"] for row, _ in shown))
    for dataset in datasets:
        points = [
            Point(row["variant"], row["minutes"], score, [row["variant"], *_facts_of(row, metric, score)])
            for row, score in shown
            if row["dataset"] == dataset
        ]
        rows: list[list[Value | Cell]] = [[point.group, point.x, point.y] for point in points]
        columns = [Column("variant"), Column("minutes", "number", 2), Column(metric, "number", 4)]
        as_table = table(columns, rows, f"{metric} against minutes, {dataset}", longest=LONGEST)
        label = f"{metric} against minutes of training on {dataset}, a point a run"
        spread = [point.x for point in points]
        log = min(spread) > 0 and max(spread) > 20 * min(spread)
        plot = scatter_plot(points, "minutes", metric, label, as_table, log=log).html()
        plots.append(titled(dataset, plot) if len(datasets) > 1 else plot)
    return [side_by_side(*plots)]


def _said(metric: object) -> str:
    """A path into metrics.json as people say it; any other name as it is."""
    return metric_name(str(metric)) if "." in str(metric) else str(metric)


def _has(row: Content, *keys: str) -> bool:
    return all(row.get(key) is not None for key in keys)


def _facts_of(row: Content, metric: str, score: float) -> list[str]:
    told = [f"{metric} {score:.4f}", f"{row['minutes']:.2f} minutes"]
    return told + [f"{key} {row[key]}" for key in ("seed", "fold") if row.get(key) is not None]


def _curves(curve: Content) -> Html:
    lines = [Line(line["name"], line["points"]) for line in curve["lines"]]
    label = f"{curve['title']}: {curve['y_title']} over {curve['x_title']}"
    return titled(curve["title"], line_plot(lines, curve["x_title"], curve["y_title"], label).html())


def _cells(cells: Sequence[Content]) -> list[Html]:
    columns = {
        "dataset": Column("dataset"),
        "variant": Column("variant"),
        "seed": Column("seed", "number"),
        "fold": Column("fold"),
        "score": Column("score", "number", 4),
        "minutes": Column("minutes", "number", 2),
        "memory_mb": Column("memory, MB", "number"),
    }
    if not cells:
        return []
    told = f"All {len(cells):,} runs" if len(cells) <= MOST_CELLS else f"{MOST_CELLS:,} of {len(cells):,} runs"
    return [unfolded(told, _shown(columns, cells[:MOST_CELLS], "every run of the study"))]
