"""Facts of checkpoints: every one that a run writes is accepted, and one that does not fit the recipe is skipped."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from phasefit.recipes import read_recipe
from phasefit.runs.fitting.checkpoint_facts import check_checkpoint
from phasefit.runs.specification import RunSpec
from phasefit.training import checkpoints
from running import train
from specs import run_spec
from tiny import make_table, write_csv

STEPS = {"max_steps": 2, "evaluate_every": 1}
RECIPES: dict[str, dict[str, Any]] = {
    "finetune": {"refit": True},
    "three-phase": {},
    "three-phase-vae": {},
    "joint": {},
    "simcse": {},
    "mirror": {},
    "triple-entropy": {},
}


def spec_of(recipe: str, table: Path, tiny: Path, **options: Any) -> RunSpec:
    settings = {f"{phase}.{name}": value for phase in read_recipe(recipe).phase_names for name, value in STEPS.items()}
    how: dict[str, Any] = {"model": str(tiny), "recipe": recipe, "settings": settings, "checkpoint_minutes": 0}
    return run_spec(table, report=False, **how, **options)


@pytest.mark.parametrize(
    "name", ["finetune", *(pytest.param(name, marks=pytest.mark.long) for name in RECIPES if name != "finetune")]
)
def test_every_checkpoint_of_a_run_is_accepted(
    name: str, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    write = checkpoints.write_checkpoint

    def check(run: Path, *content: Any) -> Path:
        nonlocal written
        folder = write(run, *content)
        spec = spec_of(name, table, tiny_folder)
        recipe = read_recipe(name, spec.recipe.settings)
        read, notes = checkpoints.read_checkpoint(run, partial(check_checkpoint, recipe))
        assert notes == []
        assert read is not None
        written += 1
        return folder

    monkeypatch.setattr("phasefit.runs.fitting.checkpointer.write_checkpoint", check)
    table = write_csv(tmp_path / "queries.csv", *make_table(40))
    train(spec_of(name, table, tiny_folder, out=tmp_path / "run", **RECIPES[name]), lambda _: None)
    assert written >= 2


def test_a_phase_that_the_recipe_lacks_is_damage(tmp_path: Path) -> None:
    facts = {"index": 7, "state": None, "snapshots": None, "phases": [], "history": [], "cut": None}
    checkpoints.write_checkpoint(tmp_path, {}, facts | {"threads": 1, "began_with": 0})
    read, notes = checkpoints.read_checkpoint(tmp_path, partial(check_checkpoint, read_recipe("finetune")))
    assert read is None
    assert "the recipe has no phase number 8" in notes[0]
