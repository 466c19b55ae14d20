"""The benchmark of objectives: every recipe has the same steps, batches, head and learning rates."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phasefit.recipes import read_recipe
from phasefit.recipes.settings import parse_settings

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import objectives

OWN = {"objective", "ce_weight", "views", "on", "lrs"}


def test_recipes_differ_only_in_their_objective() -> None:
    settings = parse_settings(objectives.settings_of(70).split("+"))
    phases = [read_recipe(recipe, settings).phases for recipe in objectives.RECIPES]
    assert all(len(one) == 1 for one in phases)
    first, *others = [one[0] for one in phases]
    assert (first.head, first.batch_size, first.min_steps, first.max_steps, first.patience) == ("linear", 32, 70, 70, 0)
    for one in others:
        assert one.model_dump(exclude=OWN) == first.model_dump(exclude=OWN)
        assert {**one.lrs, "proxies": 0} == {**first.lrs, "proxies": 0}, "only learned centres have their own rate"
        assert one.objective is not None


def test_unequal_steps_stop_it() -> None:
    objectives.check_steps(["finetune:75/100", "finetune:100/100"], 100)
    with pytest.raises(SystemExit, match="did not take 100 steps: finetune:39/39"):
        objectives.check_steps(["finetune:39/39", "finetune:100/100"], 100)
