"""The page itself: one file without external references, with light and dark colours, for any screen width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from phasefit.files.atomic import write_text
from phasefit.report.page.render import render

CHART = '<figure class="chart '
CHART_SCRIPTS = ("echarts.min.js", "charts.js", "stages.js")


@dataclass(frozen=True)
class Section:
    """A heading and its content."""

    title: str
    body: Markup


def section(title: str, template: str, /, **values: Any) -> Section:
    """Return a section whose content is a rendered file of `templates/`."""
    return Section(title, render(template, **values))


@dataclass(frozen=True)
class Page:
    """A report: its title, a short description and its sections; empty sections are skipped."""

    title: str
    subtitle: str
    sections: Sequence[Section]

    def html(self) -> str:
        """Return the whole file; the plotting library is included only if there is a chart."""
        shown = [one for one in self.sections if one.body]
        names = _names([one.title for one in shown])
        plotted = any(CHART in one.body for one in shown)
        scripts = [*(CHART_SCRIPTS if plotted else ()), "page.js"]
        named = list(zip(names, shown, strict=True))
        return render("page.html", page=self, sections=named, scripts=scripts) + "\n"


def write_page(path: Path, page: Page) -> None:
    """Write a page atomically."""
    write_text(path, page.html())


def _names(titles: Sequence[str]) -> list[str]:
    """Return a unique anchor for each title."""
    names: list[str] = []
    for title in titles:
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "section"
        number = 2
        unique = name
        while unique in names or unique == "content":
            unique, number = f"{name}-{number}", number + 1
        names.append(unique)
    return names
