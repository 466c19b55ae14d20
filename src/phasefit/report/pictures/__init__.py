"""The pictures of a run, one file each, as PNG and SVG: `OF_SCORES` and `OF_RUNS` list them.

They draw with matplotlib's objects, never with pyplot: no global state, no window, any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from phasefit.report.facts.run import RunFacts
from phasefit.report.pictures.classes import class_bars_figure
from phasefit.report.pictures.confusion import confusion_figure
from phasefit.report.pictures.geometry import geometry_figure
from phasefit.report.pictures.history import history_figure
from phasefit.report.pictures.map import map_figure
from phasefit.report.pictures.reliability import reliability_figure
from phasefit.report.pictures.scatter import scatter_figure

__all__ = [
    "OF_RUNS",
    "OF_SCORES",
    "Picture",
    "class_bars_figure",
    "confusion_figure",
    "draw_run",
    "draw_scores",
    "geometry_figure",
    "history_figure",
    "map_figure",
    "reliability_figure",
    "scatter_figure",
]

Scored = Mapping[str, Any]  # the metrics of one split of one task


class Picture(NamedTuple):
    """A file, what it shows and how to read it, whether there are data for it, and how they are drawn."""

    file: str
    title: str
    reading: str  # empty where it depends on the data
    has_data: Callable[[Any], Any]  # of what `draw` takes: scores, or a run
    draw: Callable[[Any, Path, str], None]  # the split that was scored comes last


OF_SCORES: tuple[Picture, ...] = (  # of the metrics of a split; the one that says most first
    Picture(
        "scores.png",
        "predicted against true scores",
        "A point is a row; on the dashed line prediction and truth agree.",
        lambda scored: scored.get("points"),
        lambda scored, path, split: scatter_figure(scored["points"], path, split),
    ),
    Picture(
        "confusion.png",
        "confusion matrix",
        "A row is a true class, a column a predicted one: blue is right, orange wrong.",
        lambda scored: scored.get("confusion"),
        lambda scored, path, split: confusion_figure(scored["confusion"], path, split),
    ),
    Picture(
        "classes.png",
        "each class",
        "F1, precision and recall of each class.",
        lambda scored: scored.get("per_class"),
        lambda scored, path, split: class_bars_figure(scored["per_class"], path, split),
    ),
    Picture(
        "reliability.png",
        "reliability diagram",
        "How often predictions of some confidence are right; where the two differ, probabilities mislead.",
        lambda scored: scored.get("calibration"),
        lambda scored, path, split: reliability_figure(
            scored["calibration"], scored["ece"], path, split, scored.get("ece_uncalibrated")
        ),
    ),
)
OF_RUNS: tuple[Picture, ...] = (  # of a `RunFacts`
    Picture(
        "embeddings.png",
        "embedding space",
        "The same texts before training and after each phase: near is alike, the axes mean nothing.",
        lambda run: run.map,
        lambda run, path, _: map_figure(run.map, path),
    ),
    Picture(
        "geometry.png",
        "geometry of the embedding space",
        "",
        lambda run: run.map and run.metrics.get("geometry"),
        lambda run, path, _: geometry_figure(run.metrics["geometry"], path, run.snapshots.texts),
    ),
    Picture(
        "history.png",
        "training history",
        "Loss and watched score of each phase; the dashed line is the step kept.",
        lambda run: True,
        lambda run, path, _: history_figure(run.history, path),
    ),
)


def draw_scores(folder: Path, scored: Scored, split: str = "", first_only: bool = False) -> list[str]:
    """What the metrics of one table have data for; the names of the PNGs, the one that says most first."""
    return _draw(OF_SCORES, folder, scored, split, 1 if first_only else None)


def draw_run(folder: Path, run: RunFacts) -> list[str]:
    """What a run has data for, tasks in folders of their own; the names of its PNGs in the order to show them in."""
    pictures: list[str] = []
    split = next(reversed(run.scored), "")
    if split and "tasks" not in run.scored[split]:
        pictures += draw_scores(folder, run.scored[split], split)
    elif split:
        for task, scored in run.scored[split]["tasks"].items():
            (folder / "tasks" / task).mkdir(parents=True, exist_ok=True)
            draw_scores(folder / "tasks" / task, scored, split)
    return [*pictures, *_draw(OF_RUNS, folder, run, split)]


def _draw(known: Iterable[Picture], folder: Path, data: Any, split: str, most: int | None = None) -> list[str]:
    drawn = [picture for picture in known if picture.has_data(data)][:most]
    for picture in drawn:
        picture.draw(data, folder / picture.file, split)
    return [picture.file for picture in drawn]
