"""Control characters in file names, column names, labels and recipes: escaped in every output, refused in names."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.progress import Progress, TextColumn

from phasefit.cli import console
from phasefit.control_characters import escape_controls, has_controls, one_line
from phasefit.errors import ModelError, RecipeError, RunError
from phasefit.files.links import refuse_controls
from phasefit.recipes import Recipe, parse_recipe, read_recipe
from phasefit.runs.folder import check_free
from phasefit.runs.run import Run
from phasefit.studies.folder import StudyFolder
from phasefit.studies.formats import to_latex, to_markdown
from phasefit.studies.study_reading import parse_study
from phasefit.studies.tables import Row, Table
from tiny import make_table, read_json

EVIL = "\x1b]0;title\x07\x1b[31m\x9b2J\u202egnp.exe\u2066\x7f"
SHOWN = r"\u001b]0;title\u0007\u001b[31m\u009b2J\u202egnp.exe\u2066\u007f"
QUICK = ["-r", "finetune", "-s", "finetune.max_steps=2", "-s", "finetune.min_steps=1"]


def assert_safe(text: str) -> None:
    """No control characters but line breaks and tabs."""
    bad = sorted({char for char in text if char not in "\n\t" and has_controls(char)})
    assert not bad, (bad, text[:2000])


def test_escapes() -> None:
    assert escape_controls(EVIL) == SHOWN
    assert escape_controls("a\r\nb\tc\rd\udcff") == "a\nb\tc\\u000dd\\udcff"
    assert one_line("a\r\nb\tc\u2028d\x1b") == r"a b c d\u001b"
    assert escape_controls("naïve 👩‍👩‍👧 می\u200cخواهم שלום") == "naïve 👩‍👩‍👧 می\u200cخواهم שלום", "letters stay"
    assert not any(map(has_controls, ("naïve 👩‍👩‍👧", "a b")))
    assert all(map(has_controls, ("a\nb", "a\tb", EVIL)))
    json.loads(f'"{escape_controls(EVIL)}"')


def test_a_console_escapes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.text import Text

    from phasefit.cli.tables import new_table

    table = new_table(EVIL, title=EVIL)
    table.add_row(EVIL)
    for shown in (EVIL, Text(EVIL), table):
        console.stdout().print(shown)
    with Progress(TextColumn("{task.description}", markup=False), console=console.stderr()) as progress:
        progress.add_task(EVIL)
    console.echo(EVIL)
    console.print_json({EVIL: EVIL})
    out, err = capsys.readouterr()
    assert_safe(out)
    assert_safe(err)
    assert out.count("gnp.exe") == 8


def test_styles_survive(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console.stdout().print(f"a{EVIL}", style="bold")
    assert capsys.readouterr().out == f"\x1b[1ma{SHOWN}\x1b[0m\n"


# --- commands ---------------------------------------------------------------------------------------------------------


def write(path: Path, head: list[str], rows: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> dict[str, Path]:
    """A table whose name, columns and labels contain control characters, and a run that was trained on it."""
    from typer.testing import CliRunner

    from phasefit.cli.app import app

    folder = tmp_path_factory.mktemp("world")
    texts, labels = make_table(60)
    rows = [[text, f"{label}{EVIL}\nforged", "x"] for text, label in zip(texts, labels, strict=True)]
    data = write(folder / f"data{EVIL}.csv", [f"text{EVIL}", f"label{EVIL}\nforged", EVIL], rows)
    columns = ["--text", f"text{EVIL}", "--label", f"label{EVIL}\nforged"]
    words = ["train", str(data), *columns, "-m", str(tiny_folder), "-o", str(folder / "run"), *QUICK]
    result = CliRunner().invoke(app, words, prog_name="phasefit")
    assert result.exit_code == 0, result.output
    (folder / "train.txt").write_text(result.output, encoding="utf-8")
    return {"folder": folder, "data": data, "run": folder / "run"}


def test_train_and_its_reports_are_safe(world: dict[str, Path]) -> None:
    assert_safe((world["folder"] / "train.txt").read_text(encoding="utf-8"))
    for name in ("README.md", "report.html", "recipe.toml"):
        text = (world["run"] / name).read_text(encoding="utf-8")
        if name == "report.html":  # the plotting library contains some in its source
            text = "".join(part.partition("</script>")[2] for part in text.split("<script>"))
        assert_safe(text)
    card = (world["run"] / "README.md").read_text(encoding="utf-8")
    assert "gnp.exe" in card
    assert "\nforged" not in card


@pytest.mark.parametrize("json_", [False, True])
def test_commands_that_read_are_safe(phasefit, world: dict[str, Path], tmp_path: Path, json_: bool) -> None:
    run, data = str(world["run"]), str(world["data"])
    columns = ["--text", f"text{EVIL}", "--label", f"label{EVIL}\nforged"]
    as_json = ["--json"] if json_ else []
    for words in (
        ["evaluate", run, data, *as_json, "-o", str(tmp_path / "out")],
        ["datasets", data, *columns, *as_json],
        ["geometry", run, *as_json],
        ["train", data, *columns, "--plan", *QUICK, *as_json, "-m", run],
        ["predict", run, "--say", f"a song {EVIL}"],
        ["predict", run, data, "-o", str(tmp_path / "predictions.csv"), "--overwrite"],
    ):
        result = phasefit(*words)
        assert result.exit_code == 0, (words, result.output)
        assert_safe(result.stdout)
        assert_safe(result.stderr)
        assert "\nforged" not in result.output
    predicted = (tmp_path / "predictions.csv").read_text(encoding="utf-8")
    assert EVIL in predicted, "data stay as they are"
    picture = (tmp_path / "out" / "confusion.svg").read_text(encoding="utf-8")
    assert_safe(picture)
    ElementTree.fromstring(picture)
    metrics = read_json(tmp_path / "out" / "metrics.json")
    assert f"music{EVIL}\nforged" in metrics["per_class"]


def test_errors_are_safe(phasefit, world: dict[str, Path], tmp_path: Path, sentence) -> None:
    bad = write(tmp_path / f"bad{EVIL}.csv", ["text", EVIL, "c"], [["a", "b", "c"], ["d", "e", "f"]])
    for words in (
        ["datasets", f"missing{EVIL}.csv"],
        ["train", str(bad), "--label", "nothing", "-q"],
        ["predict", f"run{EVIL}"],
        ["predict", str(world["run"]), str(bad), "--text", f"x{EVIL}"],
        ["train", str(world["data"]), "-r", f"recipe{EVIL}\nphasefit: all is well"],
        ["recipes", "show", f"none{EVIL}"],
        ["recipes", "check", f"none{EVIL}\nforged.toml"],
        [f"command{EVIL}"],
    ):
        assert_safe(sentence(phasefit(*words)))


def test_a_terminal_gets_escapes_and_a_file_the_data(world, phasefit, monkeypatch, capsys) -> None:
    import pandas as pd

    from phasefit.cli.outputs import write_out

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    write_out(pd.DataFrame({EVIL: [f"a{EVIL}", "b\nc"]}), None)
    assert_safe(capsys.readouterr().out)


def test_recipe_texts_are_safe(phasefit, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('# a\u202eb\x9b\n[[phase]]\nkind = "finetune"\n', encoding="utf-8")
    for words in (["show", str(path)], ["show", str(path), "--resolved"], ["check", str(path)]):
        result = phasefit("recipes", *words)
        assert_safe(result.output)


# --- studies ----------------------------------------------------------------------------------------------------------


def test_study_tables_are_safe() -> None:
    table = Table(f"T{EVIL}", "test.accuracy", (Row(f"d{EVIL}\nx", f"v{EVIL}", 1, 0.5),), note=f"n{EVIL}\nx")
    for render in (to_markdown, to_latex):
        text = render(f"title{EVIL}\nforged", f"command{EVIL}\n\\input{{x}}", [table], [f"note{EVIL}\nforged"])
        assert_safe(text)
        assert "\nforged" not in text
        assert "\n\\input" not in text


# --- names that are refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a\nb", f"a{EVIL}", "a\tb", "a\u202eb"])
def test_names_are_refused(name: str, tmp_path: Path) -> None:
    phases = read_recipe("finetune").phases
    for make in (
        lambda: Recipe(name, phases),
        lambda: parse_recipe('[[phase]]\nkind = "finetune"', name=name, where="x"),
        lambda: parse_recipe(f"[[phase]]\nkind = {json.dumps(name)}", name="x", where="x"),
        lambda: parse_study(
            {"title": "t", "dataset": {name: {"data": "cr"}}, "variant": {"v": {"recipe": "finetune"}}}, "x"
        ),
    ):
        with pytest.raises(RecipeError):
            make()
    for refuse in (
        lambda: refuse_controls(tmp_path / name),
        lambda: check_free(tmp_path / name, overwrite=True),
        lambda: StudyFolder.open("n", {}, tmp_path / name),
    ):
        with pytest.raises(RunError, match="control characters"):
            refuse()
    with pytest.raises(ModelError, match="cannot be the name of a task"):
        _ = Run(tmp_path, {"heads": {name: {}}}).heads
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("task", ["../../x", "/etc/x", "a\nb", ""])
def test_a_task_of_a_saved_model_cannot_be_a_path(task: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be the name of a task"):
        _ = Run(tmp_path, {"heads": {task: {}}}).heads


def test_a_run_name_is_refused_before_the_work(phasefit, world: dict[str, Path], sentence) -> None:
    words = ["train", str(world["data"]), "-o", f"runs/a{EVIL}", "-q", "-r", "finetune"]
    assert "has control characters in its name" in sentence(phasefit(*words))
    recipe = world["folder"] / f"mine{EVIL}.toml"
    recipe.write_text('[[phase]]\nkind = "finetune"\n')
    message = sentence(phasefit("train", str(world["data"]), "-r", str(recipe), "-q"))
    assert "the name of a recipe must not contain control characters" in message
