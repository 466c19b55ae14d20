"""What all pictures share: colours, a blank figure, names made fit to print, saving."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#22313f"
FAINT = "#8795a1"
GRID = "#e4e8ec"
BLUE = "#2b6cb0"
ORANGE = "#dd6b20"


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


def printable(name: object, length: int = 26) -> str:
    """A name on one line, its middle left out where it is long: ends often tell names apart."""
    text = " ".join("".join(char if char.isprintable() else " " for char in str(name)).split()) or "(empty)"
    if len(text) <= length:
        return text
    tail = length // 3
    return f"{text[: length - tail - 1]}…{text[-tail:]}"


def save(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Write a PNG. Letters that the font lacks are drawn as boxes and not worth a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s)(Glyph|Matplotlib currently does not support).*")
        figure.savefig(path, format="png", dpi=dpi, bbox_inches="tight", pad_inches=0.15, metadata={"Software": None})
