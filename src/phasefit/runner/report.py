"""What a finished run shows: pictures and the model card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.recipes import Recipe
from phasefit.runner.card import model_card
from phasefit.runner.figures import class_bars_figure, confusion_figure, history_figure
from phasefit.runner.history import History
from phasefit.runner.prepare import Prepared
from phasefit.store.manifest import write_text


def write_report(
    folder: Path,
    recipe: Recipe,
    prepared: Prepared,
    metrics: Mapping[str, Any],
    history: History,
    manifest: Mapping[str, Any],
) -> None:
    """Write all of it into the run folder."""
    pictures = ["history.png"]
    history_figure(history.rows, folder / "history.png")
    scored = metrics.get("test") or metrics.get("validation")
    if scored:
        confusion_figure(scored["confusion"], folder / "confusion.png")
        class_bars_figure(scored["per_class"], folder / "classes.png")
        pictures = ["confusion.png", "classes.png", *pictures]
    card = model_card(
        name=folder.name,
        recipe_toml=recipe.to_toml(),
        manifest={name: value for name, value in manifest.items() if name not in ("format", "status", "data", "heads")},
        metrics=metrics,
        classes=prepared.space.names,
        data=prepared.facts(),
        pictures=pictures,
    )
    write_text(folder / "README.md", card)
