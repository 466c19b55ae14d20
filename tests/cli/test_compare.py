"""`phasefit compare` from end to end on a tiny encoder, and everything it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from tiny import make_table

RECIPES = "majority,tfidf,frozen,finetune:finetune.max_steps=4"


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["compare", *words], prog_name="phasefit")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    texts, labels = make_table(60)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(folder / "topics.csv", index=False, sep=";")
    return folder


@pytest.fixture(scope="module")
def compared(world: Path, tiny_folder: Path) -> tuple[Result, Path, list[str]]:
    """One study that all tests look at: processes start once."""
    words = [str(world / "topics.csv"), "-r", RECIPES, "--seeds", "2", "--jobs", "2", "--model", str(tiny_folder)]
    words += ["--threads", "1", "-o", str(world / "study")]
    return invoke(*words), world / "study", words


def test_what_is_assumed_about_a_file_is_reported_once(compared: tuple[Result, Path, list[str]]) -> None:
    assert compared[0].stderr.count("topics.csv: separated by semicolons; --delimiter changes that") == 1


def test_the_table_has_every_recipe(compared: tuple[Result, Path, list[str]]) -> None:
    result, folder, _ = compared
    assert result.exit_code == 0, (result.output, result.exception)
    rows = list(csv.DictReader((folder / "results.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["variant"] for row in rows] == RECIPES.split(",")
    assert {row["n"] for row in rows} == {"2"}
    assert all(float(row["memory_mb"]) > 50 for row in rows)
    assert float(rows[1]["mean"]) > float(rows[0]["mean"])
    assert "majority" in result.stdout
    for name in ("results.md", "results.tex", "results.json", "report.html", "study.json"):
        assert (folder / name).stat().st_size > 100, name


def test_models_are_kept_only_on_request(compared: tuple[Result, Path, list[str]]) -> None:
    _, folder, _ = compared
    assert not list(folder.glob("cells/*/run"))
    assert len(list(folder.glob("cells/*/result.json"))) == 8


def test_the_same_command_computes_nothing_again(compared: tuple[Result, Path, list[str]]) -> None:
    _, folder, words = compared
    before = (folder / "results.csv").read_text(encoding="utf-8")
    again = invoke(*words, "--json")
    assert again.exit_code == 0, (again.output, again.exception)
    assert (folder / "results.csv").read_text(encoding="utf-8") == before
    assert len(json.loads(again.stdout)["cells"]) == 8


def test_a_ledger_replaces_the_cells(
    compared: tuple[Result, Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder, words = compared
    assert invoke(*words, "--ledger", str(tmp_path / "ledger")).exit_code == 0
    assert len(list((tmp_path / "ledger").iterdir())) == 8
    monkeypatch.setattr("phasefit.studies.processes.start_cell", None)  # nothing may start
    result = invoke(*words[:-1], str(tmp_path / "study"), "--ledger", str(tmp_path / "ledger"))
    assert result.exit_code == 0, (result.output, result.exception)
    tables = [(path / "results.csv").read_text(encoding="utf-8") for path in (folder, tmp_path / "study")]
    assert tables[0][:400] == tables[1][:400]  # replicates have fewer digits in a ledger
    damaged = next((tmp_path / "ledger").iterdir())
    damaged.write_text("{", encoding="utf-8")
    refused = invoke(*words[:-1], str(tmp_path / "study"), "--ledger", str(tmp_path / "ledger"))
    assert refused.exit_code == 2
    assert len(refused.stderr.splitlines()) == 1
    assert damaged.name in refused.stderr


def test_cells_are_reproducible_except_for_times(compared: tuple[Result, Path, list[str]], world: Path) -> None:
    _, folder, words = compared
    elsewhere = world / "again"
    result = invoke(*words[:-1], str(elsewhere))
    assert result.exit_code == 0, (result.output, result.exception)
    tables = [
        pd.read_csv(place / "results.csv").drop(columns=["minutes", "memory_mb"]) for place in (folder, elsewhere)
    ]
    pd.testing.assert_frame_equal(*tables)


def test_another_study_in_the_same_folder_is_refused(compared: tuple[Result, Path, list[str]]) -> None:
    _, _, words = compared
    result = invoke(*words, "--rows", "50")
    assert result.exit_code == 2
    assert "contains another study" in result.stderr


def test_a_cell_that_fails_is_named_in_one_sentence(world: Path, tiny_folder: Path) -> None:
    data = world / "dots.csv"
    pd.DataFrame({"text": ["!" * (row + 1) for row in range(40)], "label": ["a", "b"] * 20}).to_csv(data, index=False)
    result = invoke(str(data), "-r", "majority,tfidf", "--seeds", "1", "-o", str(world / "failing"))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("phasefit: tfidf on dots.csv, seed 0: ")
    assert not (world / "failing" / "results.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "no such file"),
        (["snips", "-r", ","], "--recipes is empty"),
        (["snips", "-r", "finetun"], "did you mean 'finetune'"),
        (["snips", "-r", "finetune:finetune.lr=fast"], "'lr'"),
        (["snips", "-r", "majority:x=1"], "has no settings"),
        (["snips", "-r", "tfidf,finetune", "--set", "denoise.lr=1"], "none of the recipes"),
        (["snips", "-r", "finetune", "--set", "finetun.lr=1"], "did you mean 'finetune'"),
        (["snips", "--folds", "1"], "--folds"),
        (["snips", "snips"], "the same name"),
        (["snips", "snips2", "--test", "x.csv"], "need a single DATA"),
        (["snips", "-r", "multitask"], "task file"),
        (["snips", "-r", "majority", "--score", "test.macro_f2"], "did you mean 'macro_f1'"),
        (["snips", "-r", "majority", "--score", "test.rows"], "unknown score 'test.rows': write it as test.NAME"),
        (["snips", "-r", "majority", "--score", "test.pearson"], "labels of kind 'single' have no such metric"),
        (["snips", "-r", "majority", "--test-size", "0"], "no test rows to score"),
        (["snips", "-r", "majority,simcse"], "simcse on snips: the recipe trains an encoder only"),
        (["snips", "-r", "majority", "--folds", "400"], "are too few for 400 folds"),
        (["snips", "-r", "mnr"], "mnr on snips: "),
    ],
)
def test_wrong_input_is_one_sentence(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Callable[..., str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in sentence(invoke(*words))
    assert not (tmp_path / "studies").exists()
