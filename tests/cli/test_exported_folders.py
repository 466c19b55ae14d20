"""Commands with an exported folder: they work, or refuse it in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graphs import task, write_folder
from phasefit.cli.app import app

ONLY = "is an exported folder, which can only predict and embed; use the run that it was exported from"


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "exported", {"default": task()})
    write_folder(tmp_path / "tasks", {"one": task(), "same": task(pair="uv")})
    write_folder(tmp_path / "encoder", {})
    rows = [("red cat", "a"), ("blue dog", "b"), ("good one", "c"), ("bad two", "a")] * 5
    lines = "".join(f"{text} {number},{label}\n" for number, (text, label) in enumerate(rows))
    (tmp_path / "table.csv").write_text(f"text,label\n{lines}")
    scored = "".join(f"{text},{number} dog,{number % 3}.5\n" for number, (text, _) in enumerate(rows))
    (tmp_path / "pairs.csv").write_text(f"a,b,score\n{scored}")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "train table.csv --model exported -o new",
        "train table.csv --model encoder -o new",
        "verify exported",
        "geometry exported",
        "geometry exported table.csv --layers",
        "geometry encoder table.csv",
    ],
)
def test_commands_that_need_a_run_refuse_it(place: Path, command: str) -> None:
    before = sorted(path.name for path in place.iterdir())
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2, result.output
    assert ONLY in " ".join(result.stderr.split())
    assert sorted(path.name for path in place.iterdir()) == before


def test_there_is_nothing_to_resume(place: Path) -> None:
    result = CliRunner().invoke(app, ["train", "--resume", "exported"])
    assert (result.exit_code, "there is no run to resume" in result.stderr) == (2, True)


def test_evaluate_scores_it(place: Path) -> None:
    result = CliRunner().invoke(app, ["evaluate", "exported", "table.csv", "--json"])
    assert result.exit_code == 0, result.output
    assert 0 <= json.loads(result.stdout)["accuracy"] <= 1


def test_evaluate_scores_the_cosines_of_an_encoder(place: Path) -> None:
    result = CliRunner().invoke(
        app, ["evaluate", "encoder", "pairs.csv", "--text", "a", "--text", "b", "--label", "score", "--json"]
    )
    assert result.exit_code == 0, result.output
    assert "spearman" in json.loads(result.stdout)


def test_tasks_are_chosen_and_pairs_are_read(place: Path) -> None:
    result = CliRunner().invoke(app, ["predict", "tasks", "--say", "cat"])
    assert result.exit_code == 2
    assert "has several tasks; choose one with --task: one, same" in " ".join(result.stderr.split())
    result = CliRunner().invoke(
        app, ["predict", "tasks", "pairs.csv", "--task", "same", "--text", "a", "--text", "b", "--quiet"]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].startswith("a,b,score,prediction,probability,probability_a")
    result = CliRunner().invoke(app, ["predict", "encoder", "--say", "cat"])
    assert "this run is an encoder without a classifier" in " ".join(result.stderr.split())


def test_explain_leaves_out_words_and_refuses_gradients(place: Path) -> None:
    refused = CliRunner().invoke(app, ["explain", "exported", "--say", "red cat", "--method", "gradients"])
    assert refused.exit_code == 2
    assert "not TF-IDF or an exported folder; use --method occlusion" in refused.stderr
    explained = CliRunner().invoke(app, ["explain", "exported", "--say", "red cat", "-q"])
    assert explained.exit_code == 0, explained.output
    assert "red" in explained.stdout
