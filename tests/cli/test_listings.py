"""recipes and datasets."""

from __future__ import annotations

import pytest

from phasefit.phases import PHASES
from phasefit.recipes import list_recipes


def test_recipes_are_listed(phasefit):
    result = phasefit("recipes")
    assert result.exit_code == 0
    for info in list_recipes():
        assert info.name in result.stdout


@pytest.mark.parametrize("name", [info.name for info in list_recipes()])
def test_every_recipe_is_shown_copied_and_checked(phasefit, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text = phasefit("recipes", "show", name).stdout
    assert text.startswith("# ")
    assert phasefit("recipes", "copy", name).exit_code == 0
    assert (tmp_path / f"{name}.toml").read_text().strip() == text.strip()
    assert phasefit("recipes", "check", f"{name}.toml").stdout == f"{name}.toml: ok\n"


def test_a_copy_overwrites_nothing(phasefit, tmp_path, sentence):
    target = tmp_path / "mine.toml"
    target.write_text("precious")
    assert "exists" in sentence(phasefit("recipes", "copy", "three-phase", str(target)))
    assert target.read_text() == "precious"
    assert phasefit("recipes", "copy", "three-phase", str(tmp_path)).exit_code == 0
    assert (tmp_path / "three-phase.toml").exists()
    sentence(phasefit("recipes", "copy", "three-phase", str(tmp_path / "no" / "mine.toml")))


def test_each_problem_is_a_line(phasefit, tmp_path):
    bad, good = tmp_path / "bad.toml", tmp_path / "good.toml"
    bad.write_text('[[phase]]\nkind = "finetune"\nepoch = 3\n')
    good.write_text('[[phase]]\nkind = "finetune"\n')
    result = phasefit("recipes", "check", str(bad), str(good), str(tmp_path / "none.toml"))
    assert result.exit_code == 2
    assert result.stdout == f"{good}: ok\n"
    first, second = result.stderr.splitlines()
    assert first == "phasefit: bad.toml, phase 1: unknown option 'epoch'; did you mean 'epochs'?"
    assert "no such file" in second


def test_an_unknown_recipe(phasefit, sentence):
    assert "did you mean 'three-phase'" in sentence(phasefit("recipes", "show", "threephase"))


def test_datasets_are_listed(phasefit, monkeypatch):
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
    result = phasefit("datasets")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert lines["snips"].split()[1:8] == ["328", "-", "-", "10", "4.4", "9.3", "20"]
    assert "packaged" in lines["snips"]
    assert "hub:" in lines["trec"]


def test_one_dataset(phasefit):
    output = phasefit("datasets", "snips").stdout
    for piece in ("train 328", "10 classes", "BookRestaurant", "70", "█", "Share my location", "CC0-1.0"):
        assert piece in output


def test_a_file_of_yours(phasefit, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("text,stars\n[bold]good,5\nbad :smile: one,1\nworse,1\n")
    output = phasefit("datasets", str(file), "--label", "stars").stdout
    for piece in ("train 3", "2 classes", "[bold]good", ":smile:", str(file)):
        assert piece in output
    assert "none; if there is a label column, name it with --label" in phasefit("datasets", str(file)).stdout


def test_an_unknown_dataset(phasefit, sentence):
    assert "'snips'" in sentence(phasefit("datasets", "snps"))


def test_the_options_of_a_phase_are_listed(phasefit, sentence):
    result = phasefit("recipes", "options", "contrast")
    assert result.exit_code == 0
    assert "balance.max_ratio" in result.stdout
    assert "did you mean 'contrast'" in sentence(phasefit("recipes", "options", "contrst"))


def test_what_has_options_is_listed(phasefit):
    kinds = phasefit("recipes", "options").stdout
    shown = phasefit("recipes", "options", "--help").stdout
    for kind in PHASES:
        assert kind in kinds
        assert kind in shown
    assert "objectives or views" in kinds


@pytest.mark.parametrize(
    ("what", "pieces"),
    [
        ("objectives", ("supcon", "temperature = 0.1", "multiple-negatives", 'directions = "one"')),
        ("views", ("delete-words", "ratio = 0.1", 'table = "english"', 'words = "english"', "dropout")),
    ],
)
def test_objectives_and_views_are_listed_with_their_options(phasefit, what, pieces):
    result = phasefit("recipes", "options", what)
    assert result.exit_code == 0, result.output
    for piece in pieces:
        assert piece in result.stdout


def test_defaults_are_written_as_in_a_recipe(phasefit):
    output = phasefit("recipes", "options", "simcse").stdout
    assert '{ name = "info-nce", temperature = 0.05' in " ".join(output.split())
    assert "False" not in output
    assert "None" not in output


def test_a_table_of_pairs(phasefit, tmp_path):
    file = tmp_path / "qa.csv"
    file.write_text("q,a\nhow old,ten years\nwhat age,ten years\nsame,Same\n")
    output = phasefit("datasets", str(file), "--text", "q", "--text", "a").stdout
    lines = [line.split() for line in output.splitlines()]
    for line in ("rows with two identical texts 1", "rows that share their second text 2"):
        assert line.split() in lines
    assert "none; pairs of texts" in output
    assert "classes" not in output


def test_a_recipe_is_shown_with_every_option(phasefit):
    result = phasefit("recipes", "show", "finetune", "--resolved")
    assert 'kind = "finetune"' in result.stdout
    assert "weight_decay" in result.stdout


def test_recipes_check_reads_every_effort(phasefit, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('[[phase]]\nkind = "finetune"\n[effort.5.set.finetune]\nepoch = 2\n')
    checked = phasefit("recipes", "check", str(own), "few-shot", "frozen")
    assert checked.exit_code == 2
    assert "unknown option 'epoch'" in checked.stderr
    assert checked.stdout == "few-shot: ok\nfrozen: ok\n"
