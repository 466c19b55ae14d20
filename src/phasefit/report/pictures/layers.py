"""The anisotropy of every layer of an encoder: a line for texts and one for words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.report.pictures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = {"texts": ("two texts (pooled)", BLUE), "words": ("two words in context", ORANGE)}


def layers_figure(facts: Mapping[str, Any], path: Path) -> None:
    """Draw the figures of `measure_layers`."""
    save(path, lambda names: draw(facts))


def draw(facts: Mapping[str, Any]) -> Figure:
    """Return the figure: layers from left to right, mean cosines from bottom to top."""
    figure = blank(5.0, 2.8)
    axes = plain(figure.subplots())
    layers = facts["layers"]
    places = [one["layer"] for one in layers]
    lowest = 0.0
    for name, (label, colour) in LINES.items():
        values = np.array([np.nan if one[name] is None else one[name] for one in layers])
        if np.isfinite(values).any():
            lowest = min(lowest, float(np.nanmin(values)))
            axes.plot(places, values, color=colour, label=label, linewidth=1.8, marker="o", markersize=4.5)
    axes.set(xticks=places, ylim=(lowest - 0.05, 1.05))
    axes.set_xlabel("layer (0: token embeddings)", color=INK, fontsize=8)
    axes.set_ylabel("mean cosine", color=INK, fontsize=8)
    axes.set_title("Anisotropy of every layer", loc="left", color=INK, fontsize=11)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.legend(frameon=False, fontsize=8, labelcolor="linecolor", loc="best")
    note = f"{facts['texts']:,} texts, {facts['words']:,} words; 1: all point in one direction"
    axes.text(0, -0.3, note, transform=axes.transAxes, color=FAINT, fontsize=8)
    return figure
