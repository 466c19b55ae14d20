from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperArgument, TyperGroup

from phasefit.cli.app import app
from phasefit.cli.help import FEW_OPTIONS, HELP_NAMES, SHORT_EXAMPLES, Panel

GROUP = typer.main.get_command(app)
NEEDED = (
    *("--text", "--label", "--kind", "--validation", "--test", "--unlabelled", "--recipe", "--minutes", "--set"),
    *("--model", "--seed", "--refit", "--plan", "--resume", "--out", "--overwrite", "--device", "--threads", "--quiet"),
    *("DATA", "-o, --out FOLDER", "--help", "--help-all"),
)


def all_commands(path: tuple[str, ...] = (), command: object = GROUP) -> Iterator[tuple[tuple[str, ...], object]]:
    yield path, command
    if isinstance(command, TyperGroup):
        for name in command.commands:
            yield from all_commands((*path, name), command.commands[name])


COMMANDS = dict(all_commands())


def options_of(path: tuple[str, ...]) -> list[str]:
    parameters = [one for one in COMMANDS[path].params if not isinstance(one, TyperArgument)]
    return [name for one in parameters for name in (*one.opts, *one.secondary_opts)]


def examples_of(path: tuple[str, ...]) -> list[str]:
    lines = inspect.cleandoc(COMMANDS[path].help).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


@pytest.fixture(params=[80, 120])
def width(request, monkeypatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


@pytest.fixture
def narrow(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


every_command = pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "phasefit")


def test_nested_commands_are_included():
    assert {(), ("train",), ("recipes",), ("recipes", "show")} <= set(COMMANDS)


@every_command
def test_help_all_lists_every_option(phasefit, width, path):
    result = phasefit(*path, "--help-all")
    assert result.exit_code == 0
    words = result.stdout.replace(",", " ").split()
    assert [name for name in options_of(path) if name not in words] == []
    assert max(map(len, result.stdout.splitlines())) <= width


@every_command
def test_no_example_is_wrapped(phasefit, narrow, path):
    examples = examples_of(path)
    assert examples
    lines = [line.strip() for line in phasefit(*path, "--help-all").stdout.splitlines()]
    assert [example for example in examples if example not in lines] == []


@every_command
def test_help_announces_help_all_and_what_it_hides(phasefit, narrow, path):
    brief, full = phasefit(*path, "--help").stdout, phasefit(*path, "--help-all").stdout
    command = COMMANDS[path]
    hidden = [one for one in command.params if getattr(one.rich_help_panel, "is_advanced", False)]
    if len(command.params) < FEW_OPTIONS:
        assert brief == full
        assert "--help-all shows all options" in brief
    else:
        assert brief.splitlines()[-1] == f" {len(hidden)} more options: phasefit {' '.join(path)} --help-all"
        assert [one.opts for one in hidden if f"│ {one.opts[0]} " in brief] == []
        assert "more options" not in full


def test_help_of_train_is_short_and_has_what_most_people_need(phasefit, narrow):
    output = phasefit("train", "--help").stdout
    assert len(output.splitlines()) <= 60
    assert [name for name in NEEDED if name not in output] == []
    lines = [line.strip() for line in output.splitlines()]
    assert [line for line in examples_of(("train",)) if line in lines] == examples_of(("train",))[:SHORT_EXAMPLES]


def test_options_in_the_short_help_of_train_need_at_most_two_lines(phasefit, narrow):
    rows = [line for line in phasefit("train", "--help").stdout.splitlines() if line.startswith("│ ")]
    starts = [number for number, line in enumerate(rows) if line[2] != " "]
    assert max(end - start for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)) <= 2


def test_details_of_an_option_are_in_the_full_help_only(phasefit, narrow):
    def text(flag: str) -> str:
        return " ".join(phasefit("train", flag).stdout.replace("│", " ").split())

    assert "Resume a stopped run. The result matches an uninterrupted run." in text("--help-all")
    assert "uninterrupted" not in text("--help")


@pytest.mark.parametrize("name", HELP_NAMES)
def test_every_name_of_help_works(phasefit, name):
    assert phasefit("train", name).exit_code == 0
    assert phasefit(name).stdout.startswith(phasefit("--help").stdout)


def test_defaults_and_choices_are_listed(phasefit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    output = phasefit("train", "--help-all").stdout
    assert "[one of error, drop, keep; default: error]" in output
    assert [value for value in ("0", "0.2", "5") if f"[default: {value}]" not in output] == []
    assert "--calibrate]" in output  # the default of a flag is one of its names


def test_a_panel_is_its_title():
    panel = Panel("Data")
    assert (panel, panel.is_advanced, panel.advanced.is_advanced) == (panel.advanced, False, True)
