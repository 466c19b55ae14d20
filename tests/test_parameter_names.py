"""Errors and notes that reach Python name parameters, not command-line options."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import phasefit
from phasefit.events import Event, Note, Stage
from phasefit.parameter_names import COMMAND, OPTION, in_python, python_errors, python_notes

ROOT = Path(phasefit.__file__).parent
ONLY_COMMANDS = {"engines", "studies", "export", "serve", "cli", "predicting"}  # not reached from Python
OTHER_PARAMETERS = {"task", "resume", "method"}  # of `predict`, `phasefit.resume` and `explain`


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("name their column with --label", "name their column with `label`"),
        ("use --leaked drop-train, or give --test", 'use leaked="drop-train", or give `test`'),
        ("--reject is a share", "`reject` is a share"),
        ("give another folder with -o", "give another folder with `out`"),
        ("--set contrast.epochs=4: no", 'settings={"contrast.epochs": 4}: no'),
        ("lower it with --set contrast.lr=", 'lower it with settings={"contrast.lr": ...}'),
        ("with --set finetune.pair=together", 'with settings={"finetune.pair": "together"}'),
        ("e.g. --levels bad,fair,good", 'e.g. levels=["bad", "fair", "good"]'),
        ("change it with --recipe)", "change it with `recipe`)"),
        ("--recipe names another", "`recipe` names another"),
        ("with --recipe mnr where", 'with recipe="mnr" where'),
        ("resume it with --resume runs/a, or", 'resume it with phasefit.resume("runs/a"), or'),
        ("resume it with: phasefit train --resume 'my run'", 'resume it with: phasefit.resume("my run")'),
        ("run: phasefit train DATA --recipe auto; then", "run: phasefit train DATA --recipe auto; then"),
        ("pip install --force-reinstall x", "pip install --force-reinstall x"),
        ("a-b--c and 3--4", "a-b--c and 3--4"),
    ],
)
def test_options_become_parameters(sentence: str, expected: str) -> None:
    assert in_python(sentence) == expected
    assert in_python(expected) == expected, "a translated sentence does not change"


def raised(tree: ast.AST) -> Iterator[str]:
    """Yield the text of every error that a file raises, with an ellipsis for each placeholder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for inner in ast.walk(node.exc):
                if isinstance(inner, ast.JoinedStr):
                    parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in inner.values)
                    yield "".join(parts)
                elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.value


def test_every_option_that_an_error_names_is_a_parameter_of_train() -> None:
    parameters = {*inspect.signature(phasefit.train).parameters, *OTHER_PARAMETERS}
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] in ONLY_COMMANDS:
            continue
        for sentence in raised(ast.parse(path.read_text(encoding="utf-8"))):
            outside = COMMAND.sub("", in_python(sentence))
            wrong += [f"{path.name}: {sentence}" for _ in OPTION.findall(outside)]
            named = re.findall(r"`(\w+)`", in_python(sentence)) if "--" in sentence else []
            wrong += [f"{path.name}: {name} in {sentence}" for name in named if name not in parameters]
    assert not wrong


def test_public_errors_and_notes_are_translated() -> None:
    events: list[Event] = []

    @python_errors
    def refuse() -> None:
        raise phasefit.DataError("give it with --label")

    with pytest.raises(phasefit.DataError, match=r"^give it with `label`$"):
        refuse()
    listen = python_notes(events.append)
    listen(Note("change it with --recipe", warning=True))
    listen(Stage("reading"))
    assert events == [Note("change it with `recipe`", warning=True), Stage("reading")]
    python_notes(None)(Stage("no listener"))


def test_a_function_that_writes_a_folder_names_its_parameter() -> None:
    @python_errors
    def save(folder: str) -> None:
        raise phasefit.RunError(f"{folder} holds a run; give another folder with -o")

    with pytest.raises(phasefit.RunError, match=r"give another folder with `folder`$"):
        save("model")
