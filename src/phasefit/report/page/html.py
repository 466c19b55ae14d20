"""Markup out of Python: every string is escaped, unless it already is markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

# What no page may hold (lone surrogates, which UTF-8 has no bytes for) or what HTML reads as something else.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
EMPTY = frozenset({"br", "hr", "input", "link", "meta"})  # elements without content


class Html(str):
    """Markup that is safe to stand in a page as it is."""

    __slots__ = ()


NOTHING = Html()
Child = str | int | float | None


def clean(text: object) -> str:
    """Text as any page can hold it: control characters as their pictures, what is no character as U+FFFD."""
    return _UNPRINTABLE.sub(_stand_in, str(text).replace("\r\n", "\n"))


def _stand_in(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def escaped(child: Child) -> Html:
    """Markup as it is, nothing for None, anything else as text."""
    if child is None:
        return Html()
    return child if isinstance(child, Html) else Html(html.escape(clean(child)))


def tag(name: str, /, *children: Child, **attributes: Any) -> Html:
    """An element; `class_` is class, `data_sort` is data-sort, True an attribute alone, None and False none."""
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in EMPTY:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{joined(children)}</{name}>")


def joined(children: Iterable[Child], by: str = "") -> Html:
    """All of them one after the other; `by` is markup."""
    return Html(by.join(map(escaped, children)))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{html.escape(clean(value))}"'


def user_text(text: object, longest: int | None = None) -> Html:
    """A text of the data: in its own direction, cut at so many characters."""
    return tag("bdi", shortened(text, longest), dir="auto")


def shortened(text: object, longest: int | None) -> str:
    """The text up to so many characters, with an ellipsis where it was cut."""
    whole = str(text)
    return whole if longest is None or len(whole) <= longest else whole[: max(longest - 1, 1)].rstrip() + "…"
