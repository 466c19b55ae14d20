from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = ["train", "predict", "evaluate", "embed", "geometry", "recipes", "datasets", "demo"]
HEAVY = "torch", "pandas", "sklearn", "numpy", "transformers", "pyarrow"  # pydantic comes with Typer itself


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["recipes", "copy"], ["recipes", "check"]])
def test_help_is_printed(phasefit, command):
    result = phasefit(*command, "--help")
    assert result.exit_code == 0
    assert "phasefit " in result.output
    assert not result.stderr


def test_every_command_is_listed(phasefit):
    output = phasefit("--help").output
    assert all(f" {name} " in output for name in COMMANDS)


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "sys.argv = ['phasefit', 'train', '--help']\n"
        "from phasefit.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"sys.exit(', '.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "--recipe" in result.stdout


@pytest.mark.parametrize(("command", "file"), [("predict", "[FILE]"), ("embed", "FILE")])
def test_help_lists_the_file_formats(phasefit, command, file):
    output = " ".join(phasefit(command, "--help").output.replace("│", " ").split())
    assert file in output
    assert "a .txt with one text per line" in output


def test_version(phasefit):
    from phasefit import __version__

    result = phasefit("--version")
    assert (result.exit_code, result.output) == (0, f"phasefit {__version__}\n")


def test_no_arguments_print_the_help(phasefit):
    result = phasefit()
    assert "Usage: phasefit" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--nope"], "--nope"),
        (["trian"], "train"),
        (["train"], "DATA"),
        (["train", "a.csv", "--momentum", "3"], "--momentum"),
        (["train", "a.csv", "--precision", "int4"], "bf16"),
        (["train", "a.csv", "--track", "carrier-pigeon"], "tensorboard"),
        (["train", "a.csv", "--rows", "0"], "--rows"),
        (["train", "a.csv", "--seed", "x"], "--seed"),
        (["embed", "run", "a.csv"], "--out"),
        (["recipes", "shwo"], "show"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(phasefit, sentence, args, says):
    message = sentence(phasefit(*args))
    assert says in message
    assert "--help'" in message
