"""Build and train a single phase for benchmarks of the training step, and write their results."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def make_phase(
    kind: str,
    texts: Sequence[str],
    labels: Sequence[Any],
    *,
    model: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """The model and one phase of `three-phase` with these settings; all rows are training rows."""
    import numpy as np

    from phasefit.data.labels import label_space
    from phasefit.models.encoder.encoder import load_encoder
    from phasefit.models.model import Model
    from phasefit.phases import PHASES
    from phasefit.phases.contract import PhaseData
    from phasefit.recipes import read_recipe

    changed = {f"{kind}.{name}": value for name, value in (settings or {}).items()}
    recipe = read_recipe("three-phase", changed)
    options = recipe.phases[recipe.phase_names.index(kind)]
    made = Model(load_encoder(model))
    space, rows = label_space(labels), np.arange(len(texts))
    data = PhaseData(texts, made.encoder.tokenise(texts), space.encode(labels), space, rows, rows[:0], rows[:0])
    return made, PHASES.get(kind).phase_class()(kind, options, made, data, seed)


def step_seconds(phase: Any, *, seed: int = 0) -> list[float]:
    """Train the phase with the training loop; return the seconds of each step."""
    from phasefit.events import StepDone
    from phasefit.training.device import make_accelerator
    from phasefit.training.loop import train_phase

    events = train_phase(phase, make_accelerator("cpu", "no"), seed=seed)
    return [event.seconds for event in events if isinstance(event, StepDone)]


def rows_of(data: str, count: int, *, split: str = "train", seed: int = 0) -> tuple[list[str], list[Any]]:
    """A fixed random sample of texts and labels of a named dataset."""
    import numpy as np

    from phasefit.data import read_dataset

    table = getattr(read_dataset(data), split)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[:count])
    return [table.texts[row] for row in chosen], [table.labels[row] for row in chosen]


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write a CSV file; all lines have the same columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
