"""Which letters can be drawn here, with which fonts, and what stands in for names that none of them can write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

# Families that write what DejaVu Sans (matplotlib's own) cannot, as Linux, macOS and Windows call them.
FALLBACKS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Bengali",
    "Noto Sans Tamil",
    "Noto Sans Thai",
    "Noto Sans Ethiopic",
    "Lohit Devanagari",
    "Nirmala UI",
    "Leelawadee UI",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Symbola",
    "Arial Unicode MS",
)
JOINERS = "\u200c\u200d"  # of no width of their own: words of Persian and emoji families need them


def printable(name: object, length: int = 26) -> str:
    """A name on one line, its middle left out where it is long: ends often tell names apart."""
    kept = "".join(char if char.isprintable() or char in JOINERS else " " for char in str(name))
    text = " ".join(kept.split()) or "(empty)"
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def stand_ins(names: Sequence[str], word: str = "class") -> list[str]:
    """The names with `class 3`, its place, for the letters that no font here has: `日本 tea` is `tea (class 3)`."""
    lacking = missing_letters(names)
    drawn = []
    for place, name in enumerate(names, start=1):
        rest = " ".join("".join(char for char in name if char not in lacking).split())
        number = f"{word} {place}"
        if not lacking.intersection(name):
            drawn.append(name)
        else:
            drawn.append(f"{rest} ({number})" if any(char.isalnum() for char in rest) else number)
    return drawn


def missing_letters(texts: Iterable[str]) -> set[str]:
    """The letters of the texts that none of our fonts has."""
    wanted = {char for text in texts for char in text if char not in JOINERS}
    for family in ("DejaVu Sans", *families_for(texts)):
        wanted = {char for char in wanted if ord(char) not in letters_of(family)}
    return wanted


def families_for(texts: Iterable[str]) -> list[str]:
    """The installed families that are needed besides DejaVu Sans; for most texts, none."""
    wanted = {ord(char) for text in texts for char in text if char not in JOINERS} - letters_of("DejaVu Sans")
    needed = []
    for family in FALLBACKS if wanted else ():
        letters = wanted & letters_of(family)
        if letters:
            needed.append(family)
            wanted -= letters
    return needed


@cache
def letters_of(family: str) -> frozenset[int]:
    """The code points that a family can draw; none if it is not installed."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    if family not in {font.name for font in fontManager.ttflist}:
        return frozenset()
    return frozenset(get_font(findfont(FontProperties(family=[family]))).get_charmap())
