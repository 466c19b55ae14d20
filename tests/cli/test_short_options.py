"""`--epochs`, `--lr` and `--batch-size` of train."""

from __future__ import annotations

from pathlib import Path

import pytest

TWO = '[[phase]]\nkind = "denoise"\n[[phase]]\nkind = "contrast"\n'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--epochs 3", {"finetune.epochs": 3}),
        ("--recipe three-phase --epochs 0.5 --lr 1e-4", {"finetune.epochs": 0.5, "finetune.lr": 1e-4}),
        ("--recipe simcse --batch-size 16", {"simcse.batch_size": 16}),
        ("--recipe multitask-simcse --lr 1e-4", {"multitask.lr": 1e-4}),
        ("--recipe few-shot --epochs 2 --set contrast.epochs=1", {"contrast.epochs": 1, "finetune.epochs": 2}),
    ],
)
def test_they_set_the_phase_that_is_meant(phasefit, training, line: str, expected: dict[str, float]) -> None:
    result = phasefit("train", "data.csv", *line.split())
    assert result.exit_code == 0, result.output
    assert training.spec.recipe.settings == expected


def test_a_task_file_trains_its_tasks(phasefit, training) -> None:
    assert phasefit("train", "cs224n", "--epochs", "2").exit_code == 0
    assert training.spec.recipe.settings == {"multitask.epochs": 2}


def test_an_unclear_meaning_is_an_error_with_the_settings_to_use(phasefit, training, tmp_path: Path) -> None:
    recipe = tmp_path / "two.toml"
    recipe.write_text(TWO, encoding="utf-8")
    result = phasefit("train", "data.csv", "--recipe", str(recipe), "--epochs", "3")
    assert result.exit_code == 2
    assert "use --set denoise.epochs=3 or --set contrast.epochs=3" in result.stderr


def test_a_recipe_without_phases_has_no_such_options(phasefit, training) -> None:
    result = phasefit("train", "data.csv", "--recipe", "tfidf", "--epochs", "3")
    assert result.exit_code == 2
    assert "recipe 'tfidf' has no phases, so --epochs does not apply; remove it" in result.stderr


def test_a_contradiction_is_an_error(phasefit, training) -> None:
    result = phasefit("train", "data.csv", "--lr", "1e-3", "--set", "finetune.lr=1e-4")
    assert result.exit_code == 2
    assert "--lr and --set finetune.lr set the same option" in result.stderr
