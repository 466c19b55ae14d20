"""The small parts of a page: headline figures, facts, code to copy, notes, what can be unfolded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phasefit.report.page.html import Child, Html, escaped, joined, tag, user_text


@dataclass(frozen=True)
class Figure:
    """A number that deserves to be seen first; the interval is drawn on a line from 0 to 1."""

    title: str
    value: str
    interval: tuple[float, float] | None = None
    note: str = ""


def figures(shown: Iterable[Figure]) -> Html:
    """Headline figures side by side."""
    return tag("dl", *(_figure(one) for one in shown), class_="figures")


def _figure(figure: Figure) -> Html:
    said: list[Child] = [tag("span", figure.value, class_="value")]
    if figure.interval is not None:
        low, high = figure.interval
        said.append(tag("span", f"{low:.3f} to {high:.3f}", class_="interval", title="95 % interval"))
        if 0 <= low <= high <= 1:
            style = f"left:{100 * low:.1f}%;width:{max(100 * (high - low), 0.8):.1f}%"
            said.append(tag("span", tag("i", style=style), class_="track", aria_hidden="true"))
    if figure.note:
        said.append(tag("span", figure.note, class_="note"))
    return tag("div", tag("dt", figure.title), tag("dd", *said))


def facts(pairs: Mapping[str, Any]) -> Html:
    """A list of names and what they are; nested ones are written out on one line."""
    known = {name: value for name, value in pairs.items() if value not in (None, "", {}, [], ())}
    lines = (tag("div", tag("dt", name.replace("_", " ")), tag("dd", _fact(value))) for name, value in known.items())
    return tag("dl", *lines, class_="facts") if known else Html()


def _fact(value: Any) -> Html:
    return value if isinstance(value, Html) else user_text(in_words(value))


def in_words(value: Any) -> str:
    """A recorded value on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_words(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def code(text: str, title: str) -> Html:
    """A block of code with a button that copies it; `title` says what it is to those who do not see it."""
    copy = tag("button", "Copy", type="button", class_="copy", data_copy=True, aria_label=f"Copy {title}")
    block = tag("pre", tag("code", text.strip("\n")), tabindex=0, role="region", aria_label=title)
    return tag("div", copy, block, class_="code")


def paragraph(*said: Child, quiet: bool = False) -> Html:
    """A paragraph; a quiet one explains what stands beside it."""
    return tag("p", *said, class_="quiet" if quiet else None)


def notes(said: Sequence[Child]) -> Html:
    """A list of remarks."""
    return tag("ul", *(tag("li", note) for note in said), class_="notes") if said else Html()


def unfolded(title: str, *content: Child, open: bool = False) -> Html:
    """Something that is there for who asks for it."""
    return tag("details", tag("summary", title), *content, open=open)


def side_by_side(*content: Child, many: bool = False) -> Html:
    """Parts in columns where the screen is wide enough; `many` makes them narrower."""
    shown = [part for part in map(escaped, content) if part]
    return tag("div", *shown, class_="columns many" if many else "columns") if shown else Html()


def titled(title: str, *content: Child, level: int = 3, lead: str = "") -> Html:
    """Content below a heading of its own."""
    said = paragraph(lead, quiet=True) if lead else Html()
    return tag("div", tag(f"h{level}", title), said, joined(content), class_="titled")
