from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from phasefit.errors import DataError, Interrupted, RunError, constraint


def test_our_own_errors_are_one_sentence(phasefit, training, sentence):
    training.error = DataError("reviews.csv, row 3: the text is empty;\nfill it in")
    assert sentence(phasefit("train", "snips")) == "reviews.csv, row 3: the text is empty; fill it in"


def test_an_error_of_two_kinds_is_ours_first(phasefit, training, sentence):
    training.error = RunError("runs/x exists")  # also an OSError
    assert sentence(phasefit("train", "snips")) == "runs/x exists"


def test_the_system_is_quoted(phasefit, training, sentence):
    training.error = PermissionError(13, "Permission denied", "/somewhere")
    assert sentence(phasefit("train", "snips")) == "Permission denied (/somewhere)"


@pytest.mark.parametrize(
    "error", [KeyError("oops"), OSError("a library spoke"), AssertionError(), RecursionError("deep")]
)
def test_a_bug_is_reported_as_one(phasefit, training, sentence, error):
    training.error = error
    message = sentence(phasefit("train", "snips"), code=1)
    assert type(error).__name__ in message
    assert "bug in phasefit" in message


def test_debug_shows_the_traceback(phasefit, training, monkeypatch):
    monkeypatch.setenv("PHASEFIT_DEBUG", "0")  # so that --debug is undone afterwards
    training.error = KeyError("oops")
    result = phasefit("--debug", "train", "snips")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr


def test_the_environment_variable_does_the_same(phasefit, training, monkeypatch):
    monkeypatch.setenv("PHASEFIT_DEBUG", "1")
    training.error = DataError("bad table")
    result = phasefit("train", "snips")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("phasefit: bad table\n")


def test_ctrl_c_reports_what_is_left(phasefit, training, sentence):
    training.error = KeyboardInterrupt()
    assert sentence(phasefit("train", "snips"), code=130) == "interrupted; nothing was written"
    training.error = Interrupted("go on with: phasefit train --resume runs/snips")
    expected = "interrupted; go on with: phasefit train --resume runs/snips"
    assert sentence(phasefit("train", "snips"), code=130) == expected
    training.error = Interrupted("go on with: phasefit train --resume runs/snips", signal.SIGTERM)
    assert sentence(phasefit("train", "snips"), code=143) == expected


def test_a_closed_pipe_is_not_an_error():
    code = (
        "import sys\n"
        "sys.argv = ['phasefit', 'recipes', 'show', 'x']\n"
        "import types; fake = types.ModuleType('phasefit.recipes')\n"
        "fake.recipe_text = lambda name: 'line\\n' * 1_000_000\n"
        "fake.read_recipe = None\n"
        "sys.modules['phasefit.recipes'] = fake\n"
        "from phasefit.cli import main; main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"line\n"
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--validation-size", "1.5"], "--validation-size must be at most 0.9; see 'phasefit train --help'"),
        (["--rows", "0"], "--rows must be at least 1; see"),
        (["--seed", "a"], "--seed must be a whole number; see"),
        (["--recip", "x"], "there is no option --recip; did you mean --recipe or --refit or --reject; see"),
        (["--unseen", "no"], "--unseen: 'no' is not one of 'error', 'drop', 'keep'; see"),
    ],
)
def test_wrong_options_are_reported_in_our_words(phasefit, sentence, words: list[str], expected: str) -> None:
    assert sentence(phasefit("train", "x.csv", *words)).startswith(expected)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Input should be greater than 0", "must be greater than 0"),
        ("Input should be less than 1", "must be less than 1"),
        ("Input should be a valid number, unable to parse string as a number", "must be a number"),
        ("Input should be 'a' or 'b'", "must be 'a' or 'b'"),
        ("Value error, Give one", "give one"),
    ],
)
def test_constraints_are_stated_plainly(message: str, expected: str) -> None:
    assert constraint(message) == expected
