"""What a finished run shows: pictures, the page and the model card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.files.atomic import write_text
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe
from phasefit.report.card.card import model_card
from phasefit.report.card.data import data_paragraphs
from phasefit.report.held_out import Outputs
from phasefit.report.map_points import MapPoints, map_points
from phasefit.report.pictures import (
    class_bars_figure,
    confusion_figure,
    geometry_figure,
    history_figure,
    map_figure,
    reliability_figure,
    scatter_figure,
)
from phasefit.report.pictures.layout import Floats, stage_layouts
from phasefit.runs.fitting.history import History

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation
    from phasefit.runs.fitting.snapshots import Snapshots


PAGE = "report.html"
TOLD_ELSEWHERE = ("format", "status", "data", "heads", "decisions")  # of the manifest, in the card


def write_report(
    folder: Path,
    recipe: Recipe,
    prepared: Prepared,
    metrics: Mapping[str, Any],
    history: History,
    manifest: Mapping[str, Any],
    cut: Truncation | None = None,
    snapshots: Snapshots | None = None,
    outputs: Outputs | None = None,
) -> None:
    """Write all of it into the run folder; what the run has no data for is left out.

    `outputs` are what the model said of the rows that were scored; without them nothing is said of single rows.
    """
    from phasefit.report.page.run_content import RunContent
    from phasefit.report.page.run_page import write_run_page

    layouts = stage_layouts(snapshots.vectors) if snapshots is not None else {}
    points = None if snapshots is None else map_points(prepared, snapshots)
    pictures = draw_pictures(folder, metrics, history, snapshots, points, layouts)
    encoder_only = manifest.get("heads") == {}
    kind = "none" if encoder_only else "tasks" if prepared.tasks else prepared.space.kind
    known = {name: value for name, value in manifest.items() if name not in TOLD_ELSEWHERE}
    run = RunContent(
        folder.name,
        recipe.to_toml(),
        prepared,
        metrics,
        history.rows,
        known,
        kind,
        cut,
        snapshots,
        layouts,
        outputs or {},
    )
    write_run_page(folder / PAGE, run)
    card = model_card(
        name=folder.name,
        recipe_toml=recipe.to_toml(),
        manifest=known,
        metrics=metrics,
        classes=() if encoder_only else prepared.space.names,
        kind=kind,
        pairs="pair" in next(iter(dict(manifest.get("heads") or {}).values()), {}),
        data=prepared.facts(),
        pictures=pictures,
        about_data=data_paragraphs(prepared.hygiene, cut),
        page=PAGE,
    )
    write_text(folder / "README.md", card)


def draw_pictures(
    folder: Path,
    metrics: Mapping[str, Any],
    history: History,
    snapshots: Snapshots | None = None,
    points: MapPoints | None = None,
    layouts: Mapping[str, Floats] | None = None,
) -> list[str]:
    """Draw what there is data for, each as PNG and SVG; the names of the PNGs in the order to show them in."""
    pictures = []
    split = next((name for name in ("test", "validation") if metrics.get(name)), None)
    if split is not None and "tasks" not in metrics[split]:
        pictures += draw_scores(folder, metrics[split], split)
    elif split is not None:
        for task, scored in metrics[split]["tasks"].items():
            (folder / "tasks" / task).mkdir(parents=True, exist_ok=True)
            draw_scores(folder / "tasks" / task, scored, split)
    if snapshots is not None and snapshots.vectors and points is not None:
        shown = (points.codes, points.names, folder / "embeddings.png", points.caption, layouts, points.group)
        map_figure(snapshots.vectors, *shown)
        pictures.append("embeddings.png")
        if metrics.get("geometry"):
            geometry_figure(metrics["geometry"], folder / "geometry.png", snapshots.texts)
            pictures.append("geometry.png")
    history_figure(history.rows, folder / "history.png")
    return [*pictures, "history.png"]


def draw_scores(folder: Path, scored: Mapping[str, Any], split: str = "", first_only: bool = False) -> list[str]:
    """What the metrics of one table have data for; the names of the PNGs, the one that says most first."""
    ways: dict[str, tuple[str, Callable[[Path], None]]] = {
        "scores.png": ("points", lambda path: scatter_figure(scored["points"], path, split)),
        "confusion.png": ("confusion", lambda path: confusion_figure(scored["confusion"], path, split)),
        "classes.png": ("per_class", lambda path: class_bars_figure(scored["per_class"], path, split)),
        "reliability.png": (
            "calibration",
            lambda path: reliability_figure(
                scored["calibration"], scored["ece"], path, split, scored.get("ece_uncalibrated")
            ),
        ),
    }
    drawn = [name for name, (needed, _) in ways.items() if scored.get(needed)]
    for name in drawn[: 1 if first_only else None]:
        ways[name][1](folder / name)
    return drawn[: 1 if first_only else None]
