"""Shared by all pictures: colours, an empty figure, text in columns, and saving."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from phasefit.files.atomic import write_file
from phasefit.report.pictures.fonts import families_for, replace_undrawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#22313f"
FAINT = "#8795a1"
GRID = "#e4e8ec"
BAND = "#f5f7f9"
BLUE = "#2b6cb0"
ORANGE = "#dd6b20"
DPI = 150

_SAVING = Lock()  # matplotlib's settings for SVG are global


def blank(width: float, height: float) -> Figure:
    """Return an empty figure with this size in inches and automatic margins."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def plain(axes: Axes) -> Axes:
    """Remove the box and the tick marks, and use ink instead of black."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=8)
    return axes


def text_columns(axes: Axes, lines: Sequence[str], columns: int, size: float) -> None:
    """Write lines of text in columns that fill the height of an empty panel."""
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    rows = max(-(-len(lines) // columns), 1)
    for place, line in enumerate(lines):
        column, row = divmod(place, rows)
        axes.text(column / columns, 1 - (row + 0.5) / rows, line, fontsize=size, color=INK, va="center")


def write_below(figure: Figure, note: str) -> None:
    """Write a faint line of text below the figure."""
    box = figure.get_tightbbox()  # in inches
    figure.text(0.01, (box.ymin - 0.1) / figure.get_figheight(), note, fontsize=7, color=FAINT, va="top")


def save(
    path: Path,
    draw: Callable[[Sequence[str]], Figure],
    names: Sequence[str] = (),
    *,
    word: str = "class",
) -> None:
    """Write the figure of `draw(names)` as a PNG to `path`, and as an SVG next to it; the bytes are reproducible.

    The SVG contains its text as text, drawn with the fonts of the reader. In the PNG, a name with letters that no
    installed font has becomes `class 3`, after its position, and a note below explains it. Warnings of matplotlib are
    ignored because no user can act on them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _save(path, draw, names, word)


def _save(path: Path, draw: Callable[[Sequence[str]], Figure], names: Sequence[str], word: str) -> None:
    figure = laid_out(draw(names), names)
    _write(figure, path.with_suffix(".svg"))
    drawn = replace_undrawable(names, word)
    replaced = sum(new != old for new, old in zip(drawn, names, strict=True))
    if replaced:
        figure = laid_out(draw(drawn), drawn)
        what = f"one {word} name" if replaced == 1 else f"{replaced} {word} names"
        write_below(figure, f"No installed font has all letters of {what}; numbered here, spelled out in the SVG.")
    _write(figure, path.with_suffix(".png"))


def laid_out(figure: Figure, names: Sequence[str]) -> Figure:
    """Set fonts that can draw the names and compute the layout once, because that is slow."""
    from matplotlib.text import Text

    more = families_for(names)
    for text in figure.findobj(Text):
        text.set_parse_math(False)
        if more:
            text.set_fontfamily(["sans-serif", *more])
    with _ignore_missing_glyphs():
        figure.draw_without_rendering()
    figure.set_layout_engine(None)
    return figure


def _write(figure: Figure, path: Path) -> None:
    from matplotlib import rc_context

    kind = path.suffix[1:]
    metadata: dict[str, str | None] = {"Date": None} if kind == "svg" else {"Software": None}
    settings = rc_context({"svg.fonttype": "none", "svg.hashsalt": "phasefit"})
    with _SAVING, settings, _ignore_missing_glyphs():
        box = figure.get_tightbbox().padded(0.15)  # bbox_inches="tight" would draw everything again to compute it
        how: dict[str, Any] = {"format": kind, "dpi": DPI, "bbox_inches": box, "metadata": metadata}
        write_file(path, lambda temporary: figure.savefig(temporary, **how))


@contextmanager
def _ignore_missing_glyphs() -> Iterator[None]:
    """Ignore warnings about missing letters: the SVG is laid out with installed fonts but drawn with the reader's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)(Glyph|Matplotlib currently does not support).*")
        yield
