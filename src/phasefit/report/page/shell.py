"""The page itself: one file without a reference to anything outside, light and dark, for any width of screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from phasefit.files.atomic import write_text
from phasefit.report.page.embed import asset
from phasefit.report.page.html import Html, clean, escaped, tag, user_text

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
ICON = "data:,"  # browsers ask for an icon otherwise
CHART = '<figure class="chart '
CHART_SCRIPTS = ("echarts.min.js", "charts.js", "stages.js")


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; `lead` is a sentence on how to read it."""

    title: str
    content: Sequence[Html]
    lead: str = ""


@dataclass(frozen=True)
class Page:
    """A report: what it is of, in a few words, and its sections."""

    title: str
    subtitle: str
    sections: Sequence[Section]

    def html(self) -> str:
        """The whole file; sections without content are left out."""
        shown = [section for section in self.sections if any(section.content)]
        names = _names([section.title for section in shown])
        links = [tag("li", tag("a", s.title, href=f"#{name}")) for s, name in zip(shown, names, strict=True)]
        body = [_section(section, name) for section, name in zip(shown, names, strict=True)]
        main = tag("main", _header(self.title, self.subtitle), *body, id="content", tabindex=-1)
        nav = tag("nav", tag("ul", *links), aria_label="Contents")
        skip = tag("a", "Skip to the content", href="#content", class_="skip")
        content = tag("body", skip, _bar(), tag("div", nav, main, class_="layout"), _scripts(main))
        return f"<!doctype html>\n{tag('html', _head(self.title), content, lang='en')}\n"


def write_page(path: Path, page: Page) -> None:
    """Write a page whole or not at all."""
    write_text(path, page.html())


def _head(title: str) -> Html:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href=ICON),
        tag("title", f"{' '.join(clean(title).split())} - phasefit"),
        Html(f"<style>{asset('page.css')}</style>"),
    )


def _bar() -> Html:
    """The line above everything: whose page it is, and the switch between light and dark."""
    switch = tag("button", "Dark", type="button", id="theme", aria_pressed="false", aria_label="Dark colours")
    return tag("header", tag("span", "phasefit", class_="brand"), switch, class_="bar")


def _header(title: str, subtitle: str) -> Html:
    return tag("div", tag("h1", user_text(title, 200)), tag("p", escaped(subtitle), class_="subtitle"), class_="title")


def _section(section: Section, name: str) -> Html:
    lead = tag("p", section.lead, class_="quiet") if section.lead else Html()
    heading = tag("h2", section.title, id=f"{name}-title")
    return tag("section", heading, lead, *section.content, id=name, aria_labelledby=f"{name}-title")


def _names(titles: Sequence[str]) -> list[str]:
    """An anchor for each title, no two the same."""
    found: list[str] = []
    for title in titles:
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "section"
        number = 2
        unique = name
        while unique in found or unique == "content":
            unique, number = f"{name}-{number}", number + 1
        found.append(unique)
    return found


def _scripts(body: str) -> Html:
    """The page's own scripts; the plotting library only where something is plotted."""
    wanted = [*(CHART_SCRIPTS if CHART in body else ()), "page.js"]
    return Html("".join(f"<script>{asset(name)}</script>" for name in wanted))
