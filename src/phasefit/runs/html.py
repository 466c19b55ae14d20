"""Results as HTML, for notebooks. Every text is escaped: labels, paths and notes come from strangers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from phasefit.control_characters import one_line
from phasefit.metrics.registry import METRICS, spelled, titles


def as_html(value: object) -> str:
    """A value as escaped text on one line."""
    return escape(one_line(str(value)))


def table_html(rows: Iterable[Sequence[object]], headings: Sequence[str] = ()) -> str:
    """A table; the first column is left-aligned, the others have figures."""
    head = "".join(f'<th style="text-align:{_side(place)}">{as_html(name)}</th>' for place, name in enumerate(headings))
    lines = [
        "".join(f'<td style="text-align:{_side(place)}">{as_html(cell)}</td>' for place, cell in enumerate(row))
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def metrics_html(metrics: Mapping[str, Any]) -> str:
    """The metrics of each split, for each task if there are several."""
    parts = {name: metrics[name] for name in ("validation", "test") if isinstance(metrics.get(name), Mapping)}
    tasks = list(dict.fromkeys(task for part in parts.values() for task in part.get("tasks", {})))
    tables = [
        f"<div><b>{as_html(task)}</b></div>"
        + _metrics_table({name: part["tasks"][task] for name, part in parts.items() if task in part.get("tasks", {})})
        for task in tasks
    ]
    return "".join([*tables, _metrics_table(parts)])


def phases_html(phases: Sequence[Mapping[str, Any]]) -> str:
    """Steps, seconds and kept score of each phase."""
    rows = []
    for phase in phases:
        watch, best = str(phase.get("watch")), phase.get("best")
        kept = best.get(watch) if isinstance(best, Mapping) else None
        score = "" if kept is None else f"{spelled(watch)} {kept:.4f}"
        rows.append((phase["name"], f"{phase['steps']:,}", f"{phase['seconds']:.1f} s", score))
    return table_html(rows, ("phase", "steps", "time", "score kept")) if rows else ""


def _metrics_table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    shown = titles()
    names = [name for name in shown if any(isinstance(part.get(name), int | float) for part in parts.values())]
    if not names:
        return ""
    rows = [(METRICS[name].title, *(_figure(part.get(name)) for part in parts.values())) for name in names]
    return table_html(rows, ("", *parts))


def _figure(value: Any) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _side(place: int) -> str:
    return "right" if place else "left"
