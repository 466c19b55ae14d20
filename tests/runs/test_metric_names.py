"""The registry of metrics and `metrics.json` agree, for every kind of run; a metric can be added from outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from phasefit import metrics as registered
from phasefit.cli.app import app
from phasefit.errors import PluginError
from phasefit.kinds import kind_named
from phasefit.metrics import METRICS, Metric
from tiny import make_table, read_json

ROWS = 60
TEXTS, TOPICS = make_table(ROWS, classes=3)
PLACES = {name: place for place, name in enumerate(sorted(set(TOPICS)))}
TABLES = {
    "single": TOPICS,
    "multi": ["|".join(sorted(PLACES)[: 1 + row % 3]) for row in range(ROWS)],
    "tree": [f"all/{topic}" if PLACES[topic] else topic for topic in TOPICS],
    "score": [f"{PLACES[topic]}.{row}5" for row, topic in enumerate(TOPICS)],
    "levels": TOPICS,
    "pairs": [str(PLACES[topic] % 2) for topic in TOPICS],
    "encoder": ["x"] * ROWS,
}
OPTIONS = {
    "single": "-r phases.toml --reject 0.2",
    "multi": "-r finetune -s finetune.max_steps=1",
    "tree": "--tree / -r finetune -s finetune.max_steps=1",
    "score": "-r finetune -s finetune.max_steps=1",
    "levels": f"--levels {','.join(PLACES)} -r finetune -s finetune.max_steps=1",
    "pairs": "--text one --text other -r finetune -s finetune.max_steps=1",
    "encoder": "--text one --text other -r mnr -s mnr.max_steps=1 -s mnr.batch_size=8",
    "tasks": "-s multitask.max_steps=2",
}
PHASES = "".join(
    f'[[phase]]\nkind = "{kind}"\nmax_steps = 1\nmin_steps = 1\n' for kind in ("denoise", "joint", "finetune")
)
NOT_METRICS = {"per_class", "confusion", "calibration", "levels", "points", "tasks"}  # tables and the like


@pytest.fixture(scope="module", autouse=True)
def _no_reports() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phasefit.report.run.write_report", lambda *_, **__: None)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables, the recipe and the task file."""
    folder = tmp_path_factory.mktemp("metrics")
    for name, labels in TABLES.items():
        two = name in ("pairs", "encoder")
        rows = zip(TEXTS, TEXTS[::-1], labels, strict=True) if two else zip(TEXTS, labels, strict=True)
        heading = ("one", "other", "label") if two else ("text", "label")
        heading = heading[: 2 if name == "encoder" else None]
        lines = [",".join(row[: len(heading)]) for row in (heading, *rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "phases.toml").write_text(PHASES)
    (folder / "tasks.toml").write_text(
        "".join(f'[[task]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in ("single", "score"))
    )
    return folder


def train(folder: Path, name: str, model: Path, more: str = "") -> dict[str, Any]:
    data = folder / f"{name}.{'toml' if name == 'tasks' else 'csv'}"
    options = OPTIONS[name].replace("phases.toml", str(folder / "phases.toml"))
    line = f"train {data} {options} {more} -q -m {model} -o {folder}/{name}-run --overwrite"
    result = CliRunner().invoke(app, line.split(), prog_name="phasefit")
    assert result.exit_code == 0, (result.output, result.exception)
    return read_json(folder / f"{name}-run" / "metrics.json")


def names_in(scored: dict[str, Any]) -> Iterator[str]:
    """The names of the metrics of a split, those of its classes, levels and tasks among them."""
    yield from (name.removesuffix("_ci95") for name in scored if name not in NOT_METRICS)
    for inner in (*scored.get("per_class", {}).values(), *scored.get("levels", ())):
        yield from inner
    for task in scored.get("tasks", {}).values():
        yield from names_in(task)


def names_of(metrics: dict[str, Any]) -> set[str]:
    """Every name of a metric in a `metrics.json`."""
    names = {name for split in ("validation", "test") for name in names_in(metrics.get(split, {}))}
    names |= {name for figures in metrics.get("geometry", {}).values() for name in figures}
    scores = (name for phase in metrics["phases"] for name in phase["best"])
    return names | {name.rpartition(" ")[2] for name in scores}  # of a task: its name and the metric


@pytest.fixture(scope="module")
def runs(folder: Path, tiny_folder: Path) -> dict[str, dict[str, Any]]:
    return {name: train(folder, name, tiny_folder) for name in OPTIONS}


@pytest.mark.parametrize("name", OPTIONS)
def test_metrics_of_a_run_are_registered(runs, name: str) -> None:
    assert names_of(runs[name]) <= set(METRICS)


def test_registered_metrics_are_written_by_some_run(runs) -> None:
    assert set(METRICS) == set().union(*map(names_of, runs.values()))


@pytest.mark.parametrize("name", ["single", "multi", "tree", "score", "levels"])
def test_metrics_name_their_label_kinds(runs, name: str) -> None:
    groups = {"levels": {"score", "levels"}}.get(name, {name})
    written = {key.removesuffix("_ci95") for key in runs[name]["test"]} - NOT_METRICS
    assert written == {metric.name for metric in METRICS.values() if groups & {*metric.of}} - (
        set() if name == "single" else {"answered", "accuracy_answered"}
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_values_are_within_their_bounds(runs, name: str) -> None:
    for split in ("validation", "test"):
        for key, value in runs[name].get(split, {}).items():
            if isinstance(value, int | float):
                assert METRICS[key].low <= value <= METRICS[key].high, key


@pytest.fixture
def wrong_and_sure() -> Iterator[Metric]:
    """The share of texts with a wrong class that has more than half of the probability."""

    def compute(codes: np.ndarray, probabilities: np.ndarray) -> float:
        return float(((probabilities.argmax(axis=1) != codes) & (probabilities.max(axis=1) > 0.5)).mean())

    yield registered.add(Metric("sure_errors", "wrong and sure", ("single",), False, watch=True, compute=compute))
    METRICS.remove("sure_errors")


def test_a_metric_can_be_added_watched_and_kept(folder: Path, tiny_folder: Path, wrong_and_sure: Metric) -> None:
    assert "sure_errors" in kind_named("single").watchable
    assert "sure_errors" not in kind_named("multi").watchable
    metrics = train(folder, "single", tiny_folder, "-r finetune -s finetune.max_steps=3 -s finetune.watch=sure_errors")
    assert 0 <= metrics["test"]["sure_errors"] <= 1
    phase = metrics["phases"][-1]
    assert phase["watch"] == "sure_errors"
    history = read_json(folder / "single-run" / "history.json")
    seen = [entry["scores"]["sure_errors"] for entry in history if "sure_errors" in entry.get("scores", {})]
    assert phase["best"]["sure_errors"] == min(seen), "lower is better"


def test_a_name_is_added_once(wrong_and_sure: Metric) -> None:
    with pytest.raises(PluginError, match="registers the metric 'sure_errors', which is already registered"):
        registered.add(wrong_and_sure)
