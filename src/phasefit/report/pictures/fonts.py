"""Which letters the installed fonts can draw, and replacements for names that they cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from phasefit.control_characters import one_line

# Font families of Linux, macOS and Windows for letters that DejaVu Sans, the font of matplotlib, lacks.
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
JOINERS = "\u200c\u200d"  # invisible characters in Persian words and emoji families


def printable(name: object, length: int = 26) -> str:
    """Return a name on one line; a long one is shortened in the middle, because names often differ at the end."""
    text = " ".join(one_line(name).split()) or "(empty)"
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def replace_undrawable(names: Sequence[str], word: str = "class") -> list[str]:
    """Replace letters that no installed font has by the position of the name: `日本 tea` becomes `tea (class 3)`."""
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
    """Return the letters of the texts that no installed font has."""
    wanted = {char for text in texts for char in text if char not in JOINERS}
    for family in ("DejaVu Sans", *families_for(texts)):
        wanted = {char for char in wanted if ord(char) not in letters_of(family)}
    return wanted


def families_for(texts: Iterable[str]) -> list[str]:
    """Return the installed families that are needed in addition to DejaVu Sans; usually none."""
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
    """Return the code points that a family can draw; empty if it is not installed."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    if family not in {font.name for font in fontManager.ttflist}:
        return frozenset()
    return frozenset(get_font(findfont(FontProperties(family=[family]))).get_charmap())
