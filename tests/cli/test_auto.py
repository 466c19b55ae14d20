"""`phasefit train --recipe auto` from end to end on a tiny encoder; its plan; what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from phasefit.recipes import parse_recipe
from phasefit.studies.auto import run_auto
from phasefit.studies.auto.candidates import candidates_for
from tiny import make_table


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["train", *words], prog_name="phasefit")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    texts, labels = make_table(48)
    texts = [f"{text} {row}" for row, text in enumerate(texts)]
    pd.DataFrame({"text": texts, "label": labels}).to_csv("topics.csv", index=False)
    return "topics.csv"


def test_auto_chooses_trains_and_reports(table: str, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_auto, "candidates_for", lambda *given: candidates_for(*given)[:2])  # finetune and tfidf
    words = [table, "--model", str(tiny_folder), "--recipe", "auto", "--minutes", "30", "--set", "finetune.max_steps=3"]
    result = invoke(*words, "-o", "run")
    assert result.exit_code == 0, (result.output, result.exception)
    report = json.loads(Path("run/auto.json").read_text())
    assert [entry["on"] for entry in report["tried"]] == ["fold 1 of 3"] * 2 + ["folds 1 to 3 of 3"] * 2
    assert report["all_rounds"]
    assert "Chosen: " in result.stdout
    assert "How the recipe was chosen" in Path("run/auto.md").read_text()
    recipe = parse_recipe(Path("run/recipe.toml").read_text(), name="run", where="run")
    assert report["chosen"]["name"] == recipe.baseline == "tfidf", "words determine these classes"
    again = invoke("--resume", "run")
    assert again.exit_code == 0, (again.output, again.exception)


def test_a_plan_trains_nothing(table: str) -> None:
    result = invoke(table, "--recipe", "auto", "--plan")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "three-phase" in result.stdout
    assert "fold 1 of 3 -> folds 1 to 3 of 3" in result.stdout
    assert not Path("studies").exists()
    assert not Path("runs").exists()
    report = json.loads(invoke(table, "--recipe", "auto", "--plan", "--json").stdout)
    assert report["candidates"][0]["name"] == "finetune"


def test_what_auto_refuses(table: str, sentence: Callable[..., str]) -> None:
    assert "--minutes is only for --recipe auto" in sentence(invoke(table, "--minutes", "5"))
    assert "--recipe multitask" in sentence(invoke("cs224n", "--recipe", "auto"))
    Path("taken").mkdir()
    Path("taken/file").touch()
    assert "taken" in sentence(invoke(table, "--recipe", "auto", "-o", "taken"))
    assert "epochs" in sentence(invoke(table, "--recipe", "auto", "--set", "finetune.epoch=3"))
