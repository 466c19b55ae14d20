"""The same run twice, in fresh processes: the same metrics and the same weights, bit for bit.

The two processes differ in what must not matter: the current folder and Python's hash seed. Run as a script, this file
trains every packaged recipe with its own random draws once, and one of them with the command.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phasefit.recipes import list_recipes, read_recipe
from phasefit.recipes.needs import needs_of
from specs import run_spec

# Others with fewer phases or another number somewhere: nothing is drawn in them that is not drawn in these.
LIKE_OTHERS = {
    *("finetune", "denoise-finetune", "contrast-finetune", "three-phase-extra", "three-phase-unbalanced"),
    *("mirror-word", "proxy-nca-finetune", "supcon-finetune", "triplet-finetune"),
}
NAMES = [info.name for info in list_recipes() if info.name not in LIKE_OTHERS]
STEPS = 3


def settings(recipe: str) -> list[str]:
    """A few steps of every phase, with an evaluation between them."""
    options = {"max_steps": STEPS, "min_steps": STEPS, "evaluate_every": 2}
    short = [f"{phase}.{name}={value}" for phase in read_recipe(recipe).phase_names for name, value in options.items()]
    return [*short, "finetune.objective.centres=20"] if recipe == "triple-entropy" else short


def source_of(recipe: str) -> str:
    """The table or task file that a recipe needs."""
    needs = needs_of(read_recipe(recipe))
    if needs.tasks:
        return "tasks.toml"
    return "similar.csv" if recipe == "cosine" else "pairs.csv" if needs.pairs else "table.csv"


def train_all(table: Path, model: Path) -> None:
    """A folder per recipe in the working directory: what a run writes, except for the slow pictures."""
    from phasefit.files.atomic import write_json
    from phasefit.models.storage import write_model
    from phasefit.runs.execution import fit_spec

    gc.freeze()  # every phase collects garbage and need not look at what was imported
    for name in NAMES:
        source = table.with_name(source_of(name))
        machine = {"device": "cpu", "threads": 1}
        texts = (
            str(table.with_name("texts.csv"))
            if any(phase.needs_unlabelled for phase in read_recipe(name).phases)
            else None
        )
        request = run_spec(
            source, model=str(model), recipe=name, settings=tuple(settings(name)), unlabelled=texts, seed=7, **machine
        )
        result = fit_spec(request, lambda event: None)
        folder = Path(name)
        folder.mkdir()
        write_model(result.model, folder)
        write_json(folder / "metrics.json", result.metrics)
        write_json(folder / "history.json", result.fitted.history.rows)


def train_by_command(table: Path, model: Path) -> None:
    """A whole run in the folder `run`; unwatched, so that every phase's last weights are kept."""
    from phasefit.cli.app import app

    options = [part for setting in settings("three-phase") for part in ("--set", setting)]
    words = ["train", str(table), "--model", str(model), "--threads", "1", *options]
    app([*words, "--validation-size", "0", "--out", "run"], prog_name="phasefit", standalone_mode=False)


def together(commands: Sequence[Sequence[str | Path]], folders: Sequence[Path]) -> list[Path]:
    """Run the commands at the same time, each in its own folder and with its own hash seed."""
    started = []
    for number, (command, folder) in enumerate(zip(commands, folders, strict=True)):
        folder.mkdir(parents=True)
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "OMP_NUM_THREADS": "1"}
        helpers = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(helpers)  # for tests/specs.py
        started.append(
            subprocess.Popen(
                list(map(str, command)),
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    try:
        outputs = [process.communicate(timeout=250)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(process.returncode == 0 for process in started), "\n".join(outputs)
    return list(folders)


def results(run: Path) -> dict[str, Any]:
    """The results of a run without times, and the hashes of its weights."""
    result: dict[str, Any] = {name: timeless(run / name) for name in ("metrics.json", "history.json", "labels.json")}
    for path in sorted(run.rglob("*.safetensors")):
        result[str(path.relative_to(run))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return result


def timeless(path: Path) -> Any:
    """A JSON file without anything called seconds."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(inner) for key, inner in value.items() if key != "seconds"}
        return [without(inner) for inner in value] if isinstance(value, list) else value

    return without(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Uneven classes: the imbalance correction draws copies, and copies draw noise."""
    from tiny import make_table, write_csv

    folder = tmp_path_factory.mktemp("data")
    texts, labels = make_table(sizes=(60, 30, 8))
    pairs = "".join(f"{text},{other}\n" for text, other in zip(texts, texts[::-1], strict=True))
    (folder / "pairs.csv").write_text(f"text_a,text_b\n{pairs}", encoding="utf-8")
    (folder / "texts.csv").write_text("text\n" + "".join(f"more of {text}\n" for text in texts), encoding="utf-8")
    sides = zip(texts, texts[::-1], strict=True)
    scores = "".join(f"{text},{other},{row / 7:.2f}\n" for row, (text, other) in enumerate(sides))
    (folder / "similar.csv").write_text(f"text_a,text_b,label\n{scores}", encoding="utf-8")
    tasks = "".join(f'[[task]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in ("table", "similar"))
    (folder / "tasks.toml").write_text(f'{tasks}[before]\ndata = "pairs.csv"\n', encoding="utf-8")
    return write_csv(folder / "table.csv", texts, labels)


@pytest.fixture(scope="module")
def twice(table: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two folders with a run of every recipe and one of the command, each folder the work of one process."""
    folder = tmp_path_factory.mktemp("twice")
    command = [sys.executable, Path(__file__), table, tiny_folder]
    return together([command, command], [folder / "here", folder / "some" / "where else"])


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_gives_the_same_result(twice: list[Path], name: str) -> None:
    first, second = (results(folder / name) for folder in twice)
    assert {"metrics.json", "encoder/model.safetensors", "heads.safetensors"} <= first.keys()
    solved = [getattr(phase, "solve", False) for phase in read_recipe(name).phases]
    assert [phase["steps"] for phase in first["metrics.json"]["phases"]] == [0 if one else STEPS for one in solved]
    assert first == second


def test_the_comparison_sees_other_recipes_but_no_times(twice: list[Path]) -> None:
    """The comparison can fail: every recipe has its own losses, and only times are ignored."""
    losses = {name: json.dumps(results(twice[0] / name)["history.json"]) for name in NAMES}
    assert len(set(losses.values())) == len(NAMES)
    raw = json.loads((twice[0] / NAMES[0] / "metrics.json").read_text(encoding="utf-8"))
    assert all(phase.pop("seconds") > 0 for phase in raw["phases"])
    assert timeless(twice[0] / NAMES[0] / "metrics.json") == raw


def test_the_same_command_twice(twice: list[Path]) -> None:
    first, second = (results(folder / "run") for folder in twice)
    assert first["metrics.json"]["test"]["rows"] > 0
    assert first == second


if __name__ == "__main__":
    train_all(Path(sys.argv[1]), Path(sys.argv[2]))
    train_by_command(Path(sys.argv[1]), Path(sys.argv[2]))
