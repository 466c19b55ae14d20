"""A recipe may state only how it differs from another."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.errors import RecipeError
from phasefit.recipes import read_recipe


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_it_differs_where_it_says_so(tmp_path: Path) -> None:
    name = write(tmp_path, "own.toml", 'base = "three-phase"\nwithout = ["denoise"]\nset.contrast.epochs = 9\n')
    whole, own = read_recipe("three-phase"), read_recipe(name)
    assert own.phase_names == ["contrast", "finetune"]
    assert own.phases[0] == whole.phases[1].model_copy(update={"epochs": 9, "min_steps": 1}), "the epochs are meant"
    assert own.phases[1] == whole.phases[2]


def test_explicit_epochs_override_the_minimum_steps_of_the_base() -> None:
    (phase,) = read_recipe("finetune", {"finetune.epochs": 1}).phases
    assert (phase.epochs, phase.min_steps) == (1, 1)
    (phase,) = read_recipe("finetune", {"finetune.epochs": 1, "finetune.min_steps": 7}).phases
    assert (phase.epochs, phase.min_steps) == (1, 7)


def test_the_base_may_be_in_the_same_folder(tmp_path: Path) -> None:
    write(tmp_path, "first.toml", '[[phase]]\nkind = "finetune"\nepochs = 3\n')
    name = write(tmp_path, "second.toml", 'base = "first.toml"\nset.finetune.lr = 1e-3\n')
    (phase,) = read_recipe(name).phases
    assert (phase.epochs, phase.lr) == (3, 1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "tree-phase"', "own.toml.*did you mean 'three-phase'"),
        ('base = "three-phase"\nwithout = ["denois"]', "own.toml.*did you mean 'denoise'"),
        ('base = "three-phase"\nset.contrst.epochs = 1', "own.toml.*did you mean 'contrast'"),
        ('base = "three-phase"\nset.contrast.epoch = 1', "own.toml.*unknown option 'epoch'"),
        ('base = "own.toml"', "own.toml"),
        ("base = 3", "own.toml: 'base' must be the name of a recipe"),
        ('base = "three-phase"\nwithout = "denoise"', "own.toml: .*'without' a list"),
        ('base = "three-phase"\nset = 3', "own.toml: .*'set' a table"),
        (
            'base = "three-phase"\nwithout = ["denoise", "contrast", "finetune"]',
            r"own.toml: .*at least one \[\[phase\]\]",
        ),
        ('without = ["denoise"]\n[[phase]]\nkind = "finetune"', "own.toml: .*need a base"),
        ('base = "three-phase"\n[[phase]]\nkind = "finetune"', "own.toml: .*not both"),
    ],
)
def test_errors_name_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read_recipe(write(tmp_path, "own.toml", text))
