"""`phasefit reproduce` from end to end on a tiny encoder and its own study file, and everything it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from phasefit.studies.study_reading import list_studies
from tiny import make_table

STUDY = """
title = "Topics"
paper = "nobody, nowhere"
seeds = [0, 1, 2]
[dataset.Topics]
data = "topics.csv"
[dataset.Gone]
data = "imdb"
[variant.tfidf]
recipe = "tfidf"
[variant.mine]
recipe = "mine.toml"
set.finetune.max_steps = 3
[[table]]
number = 1
title = "accuracy"
score = "test.accuracy"
[table.published."a large model"]
Topics = { mine = 99.5 }
[[table]]
number = 2
title = "F1"
score = "test.macro_f1"
[scale.quick]
seeds = [0, 1]
datasets = ["Topics"]
rows = 50
"""
RECIPE = '[[phase]]\nkind = "finetune"\nepochs = 1\n'


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *words], prog_name="phasefit")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    texts, labels = make_table(60)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(folder / "topics.csv", index=False)
    (folder / "own.toml").write_text(STUDY, encoding="utf-8")
    (folder / "mine.toml").write_text(RECIPE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def done(world: Path, tiny_folder: Path) -> tuple[Result, Path, list[str]]:
    """One study that all tests look at."""
    words = [str(world / "own.toml"), "--model", str(tiny_folder), "--threads", "1", "-o", str(world / "study")]
    return invoke(*words), world / "study", words


def test_a_study_file_of_ones_own(done: tuple[Result, Path, list[str]]) -> None:
    result, folder, _ = done
    assert result.exit_code == 0, (result.output, result.exception)
    rows = list(csv.DictReader((folder / "results.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["table"], row["variant"], row["n"]) for row in rows] == [
        ("Table 1: accuracy", "tfidf", "2"),
        ("Table 1: accuracy", "mine", "2"),
        ("Table 2: F1", "tfidf", "2"),
        ("Table 2: F1", "mine", "2"),
    ]
    assert [row["published"] for row in rows] == ["", "0.995", "", ""]
    page = (folder / "results.md").read_text(encoding="utf-8")
    assert "(99.5)" in page
    assert "a large model" in page
    assert "Reduced to the quick scale: 2 seeds (0, 1) instead of 3 seeds (0, 1, 2)" in page
    assert "datasets left out: Gone" in page
    assert "without Gone" in page
    assert "published, a large model" in result.stdout
    assert "99.50" in result.stdout


def test_the_same_command_gives_the_same_tables(done: tuple[Result, Path, list[str]]) -> None:
    _, folder, words = done
    before = (folder / "results.md").read_text(encoding="utf-8")
    again = invoke(*words, "--json")
    assert again.exit_code == 0, (again.output, again.exception)
    assert len(json.loads(again.stdout)["cells"]) == 4
    assert (folder / "results.md").read_text(encoding="utf-8").splitlines()[5:] == before.splitlines()[5:]


def test_a_mistyped_ledger_is_refused(done: tuple[Result, Path, list[str]], tmp_path: Path) -> None:
    _, _, words = done
    elsewhere = [*words[:-1], str(tmp_path / "study"), "--ledger", str(tmp_path / "legder"), "--no-run"]
    refused = invoke(*elsewhere)
    assert refused.exit_code == 2
    assert "legder or finished here; check --ledger" in " ".join(refused.stderr.split())
    assert not list(tmp_path.iterdir())


def test_a_ledger_is_enough_for_the_tables(done: tuple[Result, Path, list[str]], tmp_path: Path) -> None:
    _, folder, words = done
    exported = invoke(*words, "--ledger", str(tmp_path / "ledger"), "--no-run")
    assert exported.exit_code == 0, (exported.output, exported.exception)
    assert len(list((tmp_path / "ledger").iterdir())) == 4
    elsewhere = [*words[:-1], str(tmp_path / "study"), "--ledger", str(tmp_path / "ledger"), "--no-run"]
    result = invoke(*elsewhere)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "All 4 cells are in." in result.stdout
    tables = [
        [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        for path in (folder / "results.md", tmp_path / "study" / "results.md")
    ]
    assert tables[0] == tables[1]
    next((tmp_path / "ledger").iterdir()).unlink()
    partly = invoke(*elsewhere)
    assert "3 of 4 cells are in; missing: " in partly.stdout
    assert "1 missing cell, about " in partly.stdout


def test_the_plan_trains_nothing(world: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PHASEFIT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = invoke(str(world / "own.toml"), "--plan", "--scale", "full")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "12 runs, 3 seeds" in result.stdout
    assert "not on this machine: Gone (imdb)" in result.stdout
    plan = json.loads(invoke(str(world / "own.toml"), "--plan", "--json").stdout)
    assert (plan["runs"], plan["missing"]) == (4, {})
    assert "datasets left out: Gone" in plan["cut"]
    assert not list(tmp_path.iterdir())


def test_without_a_name_it_lists_all_studies_and_tables() -> None:
    result = invoke()
    assert result.exit_code == 0
    assert all(info.name in result.stdout for info in list_studies())
    listed = {one["name"]: one for one in json.loads(invoke("--json").stdout)}
    assert [table["number"] for table in listed["three-phase"]["tables"]] == ["3", "4", "6", "6", "7", "8"]


def test_its_help_teaches() -> None:
    result = CliRunner().invoke(app, ["reproduce", "--help"], prog_name="phasefit")
    assert "three-phase --table 3 --datasets SNIPS --scale full" in result.stdout
    assert "reproduce" in CliRunner().invoke(app, ["--help"], prog_name="phasefit").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tree-phase"], "there is no study 'tree-phase'; did you mean 'three-phase'?"),
        (["gone.toml"], "there is no study file 'gone.toml'"),
        (["mirror", "--table", "9"], "--table 9: the study has no table with this number; known: 1, 2"),
        (["mirror", "--scale", "quik"], "has no scale 'quik'; did you mean 'quick'?"),
        (["mirror", "--datasets", "imdb"], "the study has no dataset 'imdb'; known: SICK, STS-B"),
        (["three-phase", "--datasets", "snips,sst5"], "not on this machine: SST5 (sst5)"),
        (["three-phase", "--datasets", "snips", "--seeds", "0"], "--seeds"),
        (["three-phase", "--datasets", "snips", "--part", "half"], "--part half is not of the form K/N"),
        (["three-phase", "--datasets", "snips", "--part", "3/2"], "--part 3/2: there is no such part"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PHASEFIT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = invoke(*words)
    assert result.exit_code == 2, (result.output, result.exception)
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert not list(tmp_path.iterdir())
