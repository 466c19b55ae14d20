"""Each class's F1, precision and recall as bars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from phasefit.runner.figures.canvas import BLUE, FAINT, GRID, INK, ORANGE, blank, plain, printable, save

MOST_CLASSES = 60  # beyond, only the worst are shown


def class_bars_figure(per_class: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Draw `{name: {precision, recall, f1, support}}`, the best class on top; of very many, the worst."""
    ranked = sorted(per_class.items(), key=lambda item: (item[1]["f1"], item[1]["support"]))
    shown = ranked[:MOST_CLASSES]
    row = 0.32 if len(shown) <= 20 else 0.24
    figure = blank(8.0, 1.3 + row * max(len(shown), 3))
    axes = plain(figure.add_subplot())
    places = range(len(shown))
    scores = [values for _, values in shown]
    axes.barh(places, [values["f1"] for values in scores], height=0.66, color=BLUE, alpha=0.3, label="F1")
    for key, color, marker in (("precision", BLUE, "o"), ("recall", ORANGE, "D")):
        axes.scatter(
            [values[key] for values in scores],
            places,
            s=22,
            color=color,
            marker=marker,
            label=key,
            zorder=3,
            clip_on=False,
        )
    for place, values in enumerate(scores):
        note = f"{values['f1']:.2f}   {int(values['support']):,} rows"
        axes.text(1.03, place, note, va="center", fontsize=8, color=INK if values["support"] else FAINT)
    size = 9 if row > 0.3 else 7.5
    axes.set_yticks(places, [printable(name, 34) for name, _ in shown], fontsize=size, parse_math=False)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    title = "Each class" if len(shown) == len(ranked) else f"The {len(shown)} weakest of {len(ranked)} classes"
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    save(figure, path)
