"""`phasefit search` from end to end on a tiny encoder, and everything it refuses."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from phasefit.recipes import read_recipe
from tiny import make_table

pytest.importorskip("optuna")


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["search", *words], prog_name="phasefit")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "topics.csv"
    texts, labels = make_table(60)
    texts = [f"{text} {row}" for row, text in enumerate(texts)]
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def searched(table: Path, tiny_folder: Path) -> tuple[Result, Path, list[str]]:
    """One search that all tests look at: processes start once."""
    words = [str(table), "--model", str(tiny_folder), "--set", "finetune.max_steps=3", "--jobs", "2", "--threads", "1"]
    words += ["--try", "finetune.lr=1e-4..1e-2", "--trials", "3", "--fresh-seeds", "2"]
    words += ["--ledger", str(table.parent / "ledger")]
    words += ["--study", str(table.parent / "study"), "-o", str(table.parent / "best.toml")]
    return invoke(*words), table.parent / "study", words


def test_a_search_gives_a_recipe_and_claims_fresh_seeds_only(searched: tuple[Result, Path, list[str]]) -> None:
    result, folder, _ = searched
    assert result.exit_code == 0, (result.output, result.exception)
    best = folder.parent / "best.toml"
    assert best.read_text() == (folder / "best.toml").read_text()
    recipe = read_recipe(str(best)).phases[-1]
    assert recipe.max_steps == 3
    trials = list(csv.DictReader((folder / "trials.csv").read_text().splitlines()))
    assert [row["state"] for row in trials] == ["complete"] * 3
    assert f"{recipe.lr}" in {row["finetune.lr"] for row in trials}
    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert {row["metric"] for row in rows} == {"test.accuracy", "validation.accuracy"}
    assert {row["n"] for row in rows} == {"2"}
    assert "seed 0" in result.stdout
    assert "fresh seeds (1, 2)" in result.stdout
    for name in ("results.md", "results.json", "report.html", "importances.json"):
        assert (folder / name).stat().st_size > 1, name


def test_the_runs_on_fresh_seeds_are_in_the_ledger(searched: tuple[Result, Path, list[str]]) -> None:
    _, folder, _ = searched
    cells = [json.loads(path.read_text())["cell"] for path in (folder.parent / "ledger").iterdir()]
    assert sorted(cell.rpartition(", ")[2] for cell in cells) == ["seed 1", "seed 1", "seed 2", "seed 2"]


def test_trials_never_saw_the_test(searched: tuple[Result, Path, list[str]]) -> None:
    _, folder, _ = searched
    results = [json.loads(path.read_text()) for path in folder.glob("cells/*/result.json")]
    trials = [one for one in results if one["cell"].startswith("trial")]
    assert len(trials) == 3
    assert not any("test" in one["metrics"] for one in trials)
    test = {*pd.read_parquet(folder / "rows" / "test.parquet")["text"]}
    assert len(test) == 6
    assert not test & {*pd.read_parquet(folder / "rows" / "train.parquet")["text"]}


def test_the_same_command_computes_nothing_again(searched: tuple[Result, Path, list[str]]) -> None:
    _, folder, words = searched
    before = (folder / "results.csv").read_text()
    times = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*/result.json")}
    again = invoke(*words, "--json")
    assert again.exit_code == 0, (again.output, again.exception)
    assert (folder / "results.csv").read_text() == before
    assert {path: path.stat().st_mtime_ns for path in folder.glob("cells/*/result.json")} == times
    assert len(json.loads(again.stdout)["trials"]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--space", "nothing"], "space 'nothing' is neither a packaged space nor a TOML file"),
        (["--try", "finetune.lrr=1,2"], "did you mean"),
        (["--try", "finetune.lr=-1,2"], "option 'lr'"),
        (["--recipe", "simcse"], "trains an encoder without a head"),
        (["--score", "test.accuracy"], "a search compares validation scores; use --score accuracy"),
        (["--score", "acuracy"], "did you mean 'accuracy'?"),
        (["--storage", "trials"], "use a URL"),
        (["-o", "best"], "the recipe is a TOML file"),
        (["--validation-size", "0"], "there are no validation rows"),
        (["--space", "triple-entropy"], "objective"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(
    words: list[str], message: str, table: Path, sentence: Callable[..., str]
) -> None:
    assert message in sentence(invoke(str(table), "--study", str(table.parent / "never"), *words))
    assert not (table.parent / "never").exists()


def test_without_optuna_it_says_how_to_get_it(
    table: Path, sentence: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert "pip install 'phasefit[search]'" in sentence(invoke(str(table)))


def test_a_file_of_the_users_is_not_replaced(tmp_path: Path) -> None:
    own = tmp_path / "best.toml"
    own.write_text("precious = 1\n", encoding="utf-8")
    result = invoke("snips", "--recipe", "finetune", "--trials", "1", "-o", str(own))
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert own.read_text(encoding="utf-8") == "precious = 1\n"


def test_a_recipe_of_another_search_or_one_that_was_edited_is_not_replaced(
    searched: tuple[Result, Path, list[str]], tmp_path: Path, sentence: Callable[..., str]
) -> None:
    _, folder, words = searched
    written = (folder.parent / "best.toml").read_text()
    out = tmp_path / "best.toml"
    out.write_text(written)
    elsewhere = [*words[:-1], str(out)]
    assert "exists already" in sentence(invoke(*elsewhere, "--set", "finetune.dropout=0.5"))
    out.write_text(written + "# mine\n")
    assert "or edited); choose another name, or use --overwrite" in sentence(invoke(*elsewhere))
    assert out.read_text() == written + "# mine\n"


def test_a_study_of_another_table_is_refused_by_the_option_that_gave_it(
    searched: tuple[Result, Path, list[str]], tmp_path: Path, sentence: Callable[..., str]
) -> None:
    _, folder, words = searched
    message = sentence(invoke("snips", *words[1:-2]))
    assert f"{folder} contains another study; give another folder with --study" in message


def test_an_impossible_grid_writes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("snips", "--recipe", "finetune", "--sampler", "grid", "--try", "finetune.lr=1e-5..1e-3")
    assert result.exit_code == 2
    assert "which has no grid" in result.stderr
    assert not list(tmp_path.iterdir())
