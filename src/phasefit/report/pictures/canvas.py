"""What all pictures share: colours, a blank figure, text in columns, and saving, which happens only here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from phasefit.report.pictures.fonts import families_for, stand_ins

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
    """An empty figure of that size in inches that arranges its own margins."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def plain(axes: Axes) -> Axes:
    """Take off what says nothing: the box, the tick marks; ink instead of black."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=8)
    return axes


def text_columns(axes: Axes, lines: Sequence[str], columns: int, size: float) -> None:
    """Lines of text down the columns of a blank panel, a row as high as the panel's height allows."""
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    rows = max(-(-len(lines) // columns), 1)
    for place, line in enumerate(lines):
        column, row = divmod(place, rows)
        axes.text(column / columns, 1 - (row + 0.5) / rows, line, fontsize=size, color=INK, va="center")


def write_below(figure: Figure, note: str) -> None:
    """A faint line under everything that is drawn."""
    box = figure.get_tightbbox()  # in inches
    figure.text(0.01, (box.ymin - 0.1) / figure.get_figheight(), note, fontsize=7, color=FAINT, va="top")


def save(
    path: Path,
    draw: Callable[[Sequence[str]], Figure],
    names: Sequence[str] = (),
    *,
    word: str = "class",
) -> None:
    """Write what `draw(names)` draws as `path`, a PNG, and as an SVG beside it; the same bytes every time.

    The SVG holds its text as text, which the reader's fonts draw. In the PNG, a name with letters that no font of this
    machine has is called `class 3` after its place, and a line below says so. What matplotlib has to warn of is no
    news to who trains a model.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _save(path, draw, names, word)


def _save(path: Path, draw: Callable[[Sequence[str]], Figure], names: Sequence[str], word: str) -> None:
    figure = laid_out(draw(names), names)
    _write(figure, path.with_suffix(".svg"))
    drawn = stand_ins(names, word)
    replaced = sum(new != old for new, old in zip(drawn, names, strict=True))
    if replaced:
        figure = laid_out(draw(drawn), drawn)
        whose = f"the name of one {word}" if replaced == 1 else f"{replaced} {word} names"
        write_below(
            figure, f"No font of this machine has all letters of {whose}; numbered by place, in full in the SVG."
        )
    _write(figure, path.with_suffix(".png"))


def laid_out(figure: Figure, names: Sequence[str]) -> Figure:
    """The figure with fonts that can write the names and everything in its place, once: laying out is slow."""
    from matplotlib.text import Text

    more = families_for(names)
    for text in figure.findobj(Text):
        text.set_parse_math(False)
        if more:
            text.set_fontfamily(["sans-serif", *more])
    with _no_word_of_missing_letters():
        figure.draw_without_rendering()
    figure.set_layout_engine(None)
    return figure


def _write(figure: Figure, path: Path) -> None:
    from matplotlib import rc_context

    kind = path.suffix[1:]
    metadata: dict[str, str | None] = {"Date": None} if kind == "svg" else {"Software": None}
    settings = rc_context({"svg.fonttype": "none", "svg.hashsalt": "phasefit"})
    with _SAVING, settings, _no_word_of_missing_letters():
        box = figure.get_tightbbox().padded(0.15)  # bbox_inches="tight" would draw everything once more to find it
        figure.savefig(path, format=kind, dpi=DPI, bbox_inches=box, metadata=metadata)


@contextmanager
def _no_word_of_missing_letters() -> Iterator[None]:
    """The SVG is measured with the fonts of this machine, which may lack a letter; a reader's fonts draw it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)(Glyph|Matplotlib currently does not support).*")
        yield
