"""The page of a study, `report.html`, from plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasefit.metrics.registry import metric_at
from phasefit.report.page.chart import Chart
from phasefit.report.page.parts import Column, Figure, Table
from phasefit.report.page.plots import Line, Point, Spot, interval_plot, line_plot, scatter_plot
from phasefit.report.page.shell import Page, Section, section, write_page
from phasefit.studies.formats import metric_name

Content = Mapping[str, Any]
PUBLISHED = "published"
MOST_CELLS = 2000  # shown; results.json has them all
LONGEST = 300
ENOUGH_SEEDS = 5  # suggested if fewer were run


@dataclass(frozen=True)
class Repetitions:
    """How often a variant was run on a dataset."""

    seeds: int
    rows: Mapping[str, int] = field(default_factory=dict)  # scored rows of a seed by split, if known


@dataclass(frozen=True)
class Evidence:
    """What headlines need in addition to the tables: repetitions by dataset and variant, and the option for seeds."""

    repetitions: Mapping[tuple[str, str], Repetitions] = field(default_factory=dict)
    seeds_option: str = "--seeds"


NO_EVIDENCE = Evidence()


def write_study_page(path: Path, content: Content, evidence: Evidence = NO_EVIDENCE) -> None:
    """Write a study (see `page_content`) as one self-contained page."""
    write_page(path, study_page(content, evidence))


def study_page(content: Content, evidence: Evidence = NO_EVIDENCE) -> Page:
    """Headlines, one section per table, score against minutes, curves, runs, and the command."""
    tables: Sequence[Content] = content.get("tables") or ()
    cells: Sequence[Content] = content.get("cells") or ()
    curves = {curve["title"]: _curve_chart(curve) for curve in content.get("curves") or ()}
    sections = [
        section("Result", "study/result.html", figures=_figures(content), headlines=_headlines(tables, evidence)),
        *(_table_section(one, several=len(tables) > 1) for one in tables),
        section("Cost", "study/cost.html", charts=_cost_charts(content)),
        section("Curves", "study/curves.html", curves=curves),
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


def _headlines(tables: Sequence[Content], evidence: Evidence) -> list[str]:
    """For each dataset the variant that leads, and whether its lead is statistically significant."""
    headlines = []
    for one in tables:
        title = f"{one['title']}: " if len(tables) > 1 else ""
        for dataset in dict.fromkeys(row["dataset"] for row in one["rows"]):
            rows = [row for row in one["rows"] if row["dataset"] == dataset and row.get("mean") is not None]
            if rows:
                headlines.append(title + _leader(dataset, rows, one["metric"], evidence))
    return headlines


def _leader(dataset: str, rows: Sequence[Content], metric: str, evidence: Evidence) -> str:
    ranked = all(row.get("rank") is not None for row in rows)  # ranks are right if lower is better, too
    best = min(rows, key=lambda row: row["rank"]) if ranked else max(rows, key=lambda row: row["mean"])
    lead = f"On {dataset}, {best['variant']} leads with {best['mean']:.4f}"
    first = [row["variant"] for row in rows if row["mean"] == best["mean"]]
    if len(first) > 1:
        return f"On {dataset}, {', '.join(first[:-1])} and {first[-1]} are tied at {best['mean']:.4f}."
    if len(rows) == 1:
        return f"On {dataset}, {best['variant']} reaches {best['mean']:.4f}."
    return f"{lead}; {_difference(best, rows, metric, evidence)}."


def _difference(best: Content, rows: Sequence[Content], metric: str, evidence: Evidence) -> str:
    """Significance of the difference between the leader and the first variant, or the others if it is the first."""
    if best.get("difference") is not None:
        test = _test(best)
        if not test:
            return _untested(best, rows[0]["variant"], metric, evidence)
        verb = "is" if _is_significant(best) else "is not"
        difference = f"{best['difference']:+.4f} from {rows[0]['variant']}"
        return f"its difference of {difference} {verb} statistically significant ({test})"
    compared = [row for row in rows if row is not best and row.get("difference") is not None]
    if not compared:
        return "the difference was not tested"
    significant = [row for row in compared if _is_significant(row)]
    return f"{len(significant)} of {len(compared)} others differ significantly from it"


def _untested(best: Content, base: str, metric: str, evidence: Evidence) -> str:
    """Too few seeds for a test, or the same difference with each: the difference so far, and how many seeds to run."""
    repeated = evidence.repetitions.get((best["dataset"], best["variant"])) or Repetitions(best["n"])
    split = metric.partition(".")[0]
    rows = repeated.rows.get(split)
    on = "" if rows is None else f" on {_count(rows, f'{split} row')}"
    more = ENOUGH_SEEDS if repeated.seeds < ENOUGH_SEEDS else 2 * repeated.seeds
    return (
        f"{_count(repeated.seeds, 'seed')} cannot tell whether {best['variant']} is better than {base} "
        f"({_gain(best['difference'], metric)}{on}); use {evidence.seeds_option} {more}"
    )


def _gain(difference: float, metric: str) -> str:
    """A difference of shares (accuracy, F1) in points, any other as a plain number."""
    if metric_at(metric).bounds != (0.0, 1.0):
        return f"{difference:+.4f}"
    points = f"{100 * difference:+.2f}".rstrip("0").rstrip(".")
    return f"{points} point" if points in ("+1", "-1") else f"{points} points"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _is_significant(row: Content) -> bool:
    """Whether p (corrected for the number of variants) is small; without p, whether the interval excludes zero."""
    low, high, p = row.get("difference_low"), row.get("difference_high"), row.get("p")
    if p is not None:
        return bool(p < 0.05)
    return low is not None and high is not None and bool(low > 0 or high < 0)


def _test(row: Content) -> str:
    """The interval and p value of a difference; empty if there are none."""
    low, high, p = row.get("difference_low"), row.get("difference_high"), row.get("p")
    known = [] if low is None or high is None else [f"95 % interval {low:+.4f} to {high:+.4f}"]
    known += [] if p is None else [f"p = {p:.3g}"]
    return ", ".join(known)


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
    spots = [
        Spot(row["dataset"], row["variant"], row["mean"], row.get("low"), row.get("high"), row.get("published"))
        for row in rows
        if row.get("mean") is not None
    ]
    metric, published = _spelled(one["metric"]), _published(rows)
    label = f"{one['title']}: {metric} of each variant with its 95 % interval, by dataset"
    chart = interval_plot(spots, metric, label, published) if spots else None
    lines = [_with_spans(row) for row in (*rows, *(one.get("overall") or ()))]
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
    by_dataset: dict[str, list[Point]] = {}
    for row, score in shown:
        point = Point(row["variant"], row["minutes"], score, [row["variant"], *_tip(row, metric, score)])
        by_dataset.setdefault(row["dataset"], []).append(point)
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


def _curve_chart(curve: Content) -> Chart:
    lines = [Line(line["name"], line["points"]) for line in curve["lines"]]
    label = f"{curve['title']}: {curve['y_title']} over {curve['x_title']}"
    return line_plot(lines, curve["x_title"], curve["y_title"], label)
