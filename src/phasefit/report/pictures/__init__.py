"""The pictures of a run, each as PNG and SVG: `OF_SCORES` and `OF_RUNS` list them.

They use matplotlib's objects and never pyplot: no global state, no window, safe in any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from phasefit.files.atomic import make_folders
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
    """A file, its title and how to read it, a test for its data, and the function that draws it."""

    file: str
    title: str
    reading: str  # empty if it depends on the data
    has_data: Callable[[Any], Any]  # gets the same argument as `draw`: scores or a run
    draw: Callable[[Any, Path, str], None]  # data, file, and the split that was scored


OF_SCORES: tuple[Picture, ...] = (  # from the metrics of a split; the most informative first
    Picture(
        "scores.png",
        "predicted against true scores",
        "Each point is a row; on the dashed line, predicted and true score are equal.",
        lambda scored: scored.get("points"),
        lambda scored, path, split: scatter_figure(scored["points"], path, split),
    ),
    Picture(
        "confusion.png",
        "confusion matrix",
        "Rows are true classes, columns are predicted classes: blue is correct, orange is wrong.",
        lambda scored: scored.get("confusion"),
        lambda scored, path, split: confusion_figure(scored["confusion"], path, split),
    ),
    Picture(
        "classes.png",
        "scores of each class",
        "F1, precision and recall of each class.",
        lambda scored: scored.get("per_class"),
        lambda scored, path, split: class_bars_figure(scored["per_class"], path, split),
    ),
    Picture(
        "reliability.png",
        "reliability diagram",
        "Accuracy against confidence; where they differ, the probabilities are misleading.",
        lambda scored: scored.get("calibration"),
        lambda scored, path, split: reliability_figure(
            scored["calibration"], scored["ece"], path, split, scored.get("ece_uncalibrated")
        ),
    ),
)
OF_RUNS: tuple[Picture, ...] = (  # from a `RunFacts`
    Picture(
        "embeddings.png",
        "embedding space",
        "The same texts before training and after each phase: nearby points are similar, the axes have no meaning.",
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
        "Loss and validation score of each phase; the dashed line marks the step whose weights were kept.",
        lambda run: run.history or run.metrics.get("phases") != [],  # a baseline has no phases
        lambda run, path, _: history_figure(run.history, path),
    ),
)


def draw_scores(folder: Path, scored: Scored, split: str = "", first_only: bool = False) -> list[str]:
    """Draw the pictures that the metrics have data for; return the names of the PNGs, the most informative first."""
    return _draw(OF_SCORES, folder, scored, split, 1 if first_only else None)


def draw_run(folder: Path, run: RunFacts) -> list[str]:
    """Draw the pictures that a run has data for, tasks in subfolders; return the names of its PNGs in display order."""
    pictures: list[str] = []
    split = next(reversed(run.scored), "")
    if split and "tasks" not in run.scored[split]:
        pictures += draw_scores(folder, run.scored[split], split)
    elif split:
        for task, scored in run.scored[split]["tasks"].items():
            make_folders(folder / "tasks" / task)
            draw_scores(folder / "tasks" / task, scored, split)
    return [*pictures, *_draw(OF_RUNS, folder, run, split)]


def _draw(known: Iterable[Picture], folder: Path, data: Any, split: str, most: int | None = None) -> list[str]:
    drawn = [picture for picture in known if picture.has_data(data)][:most]
    for picture in drawn:
        picture.draw(data, folder / picture.file, split)
    return [picture.file for picture in drawn]
