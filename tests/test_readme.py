"""The Python and the commands of the README and the docs pages run, with a tiny encoder instead of the default one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from inline_cells import inline_cells
from phasefit.cli.app import app
from phasefit.models.encoder.locate import packaged_default
from phasefit.models.encoder.long_texts import WAYS
from phasefit.models.encoder.packing import FAMILIES as PACKED
from phasefit.phases.options import PhaseOptions
from phasefit.recipes import parse_recipe
from phasefit.training.schedule import Schedule
from tiny import make_table, write_csv

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

SHORT = {"--seeds": "1", "--trials": "2", "--minutes": "0.05"}  # studies in the time of a test


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


def run_commands(text: str) -> int:
    """Run the phasefit commands of a page in order; return their number."""
    count = 0
    for line in "".join(blocks("console", text)).splitlines():
        command = shlex.split(line.removeprefix("$ "), comments=True)
        if command[0] != "phasefit":
            continue
        for index, word in enumerate(command[:-1]):
            command[index + 1] = SHORT.get(word, command[index + 1])
        result = CliRunner().invoke(app, command[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
        count += 1
    return count


@pytest.fixture
def beginner(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages name, a tiny default encoder, and few steps per phase."""
    whole = Schedule.of

    def short(options: PhaseOptions, batches: int, total: int | None = None) -> Schedule:
        return whole(options.model_copy(update={"min_steps": 1, "max_steps": 4}), batches, total)

    monkeypatch.setattr(Schedule, "of", short)
    inline_cells(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("phasefit.models.encoder.locate.packaged_default", lambda: tiny_folder)
    texts, labels = make_table()
    write_csv(tmp_path / "reviews.csv", texts, labels)
    write_csv(tmp_path / "other.csv", texts[:12], labels[:12])
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "texts.csv", index=False)
    pd.DataFrame({"question": texts, "answer": texts[::-1]}).to_csv(tmp_path / "pairs.csv", index=False)
    described = {"label": sorted(set(labels)), "text": [f"about {label}" for label in sorted(set(labels))]}
    pd.DataFrame(described).to_csv(tmp_path / "classes.csv", index=False)
    sides = {"anchor": texts, "positive": texts[::-1], "negative": texts[1:] + texts[:1]}
    pd.DataFrame(sides).to_csv(tmp_path / "triples.csv", index=False)
    (tmp_path / "new.csv").write_text("id,text\n1,a fine thing\n2,another\n", encoding="utf-8")
    return tmp_path


def test_the_two_commands_come_first() -> None:
    first = blocks("console")[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["$ make demo", "$ make test"]
    assert README.index(first) < README.index("## "), "before the first section"


@pytest.mark.filterwarnings("ignore::phasefit.errors.PhasefitWarning")  # the tiny encoder accepts few tokens
@pytest.mark.usefixtures("beginner")
def test_the_python_of_the_readme_runs() -> None:
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.long
def test_the_python_of_the_readme_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if packaged_default() is None:
        pytest.skip("the default model is not installed (extra 'offline')")
    monkeypatch.chdir(tmp_path)
    (code,), (shown,) = blocks("python"), blocks("text")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 120


@pytest.mark.usefixtures("beginner")
def test_the_commands_of_the_readme_run_in_order() -> None:
    assert run_commands(README) >= 3


@pytest.mark.filterwarnings("ignore::phasefit.errors.PhasefitWarning")
def test_the_page_about_training_runs(beginner: Path) -> None:
    text = page("training")
    assert run_commands(text) >= 10
    assert (beginner / "out.csv").read_text().startswith("id,text,prediction,probability,probability_")
    assert (beginner / "vectors.npy").is_file()
    (code,) = blocks("python", text)
    names: dict[str, object] = {}
    exec(compile(code, "training.md", "exec"), names)
    assert (beginner / "model" / "phasefit.json").is_file()
    assert set(names["clf"].classes_) == set(names["snips"].labels)


def test_the_page_about_runs_lists_every_file(beginner: Path) -> None:
    text = page("runs")
    result = CliRunner().invoke(app, ["train", "reviews.csv"])
    assert result.exit_code == 0, result.output
    run_commands(text)
    (code,) = blocks("python", text)
    exec(compile(code, "runs.md", "exec"), {})
    table = "".join(re.findall(r"^\| (`.*?) \|", text, flags=re.M))
    for path in (beginner / "runs" / "reviews").iterdir():
        picture = path.suffix in {".png", ".svg"}
        assert f"`{path.stem if picture else path.name}{'/' if path.is_dir() else ''}`" in table


def test_the_page_about_recipes_runs(beginner: Path) -> None:
    text = page("recipes")
    assert run_commands(text) == 9
    assert (beginner / "mine.toml").is_file()
    recipe, efforts = blocks("toml", text)
    assert parse_recipe(recipe, name="my-recipe", where="recipes.md").phase_names == ["contrast", "finetune"]
    less, more = (parse_recipe(efforts, name="mine", where="recipes.md", effort=effort) for effort in (1, 5))
    assert (less.phase_names, more.phases[2].epochs) == (["contrast", "finetune"], 10)


def test_the_commands_to_choose_a_recipe_run(beginner: Path) -> None:
    first = page("choosing").partition("| question |")[0]
    assert run_commands(first) == 4
    assert (beginner / "best.toml").is_file()


@pytest.mark.filterwarnings("ignore::phasefit.errors.PhasefitWarning")
def test_the_page_about_objectives_runs(beginner: Path) -> None:
    text = page("objectives")
    assert run_commands(text) >= 4
    names: dict[str, object] = {"texts": make_table()[0]}
    for code in blocks("python", text):
        exec(compile(code, "objectives.md", "exec"), names)
    assert (beginner / "encoder" / "phasefit.json").is_file()
    for recipe in blocks("toml", text):
        parse_recipe(recipe, name="mine", where="objectives.md").check()


@pytest.mark.usefixtures("beginner")
def test_the_page_about_speed_runs() -> None:
    text = page("speed")
    assert run_commands(text) == 1
    options = re.findall(r"^\| `(\w+) = ", text, flags=re.M)
    assert len(options) == 4
    assert set(options) <= set(PhaseOptions.model_fields)
    families = re.findall(r"`([\w-]+)`", text.partition("families ")[2].partition(";")[0])
    assert set(families) == set(PACKED)


@pytest.mark.usefixtures("beginner")
def test_the_page_about_trust_runs() -> None:
    text = page("trust")
    assert run_commands(text) == 3
    assert set(re.findall(r"^\| `([a-z][a-z-]+)` \|", text, flags=re.M)) == set(WAYS)
