"""Errors that need no model are reported before torch and transformers are imported, and before anything is written."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from phasefit import TextClassifier
from phasefit.cli.app import app
from tiny import make_table

PROGRAM = """
import os, sys
os.chdir(sys.argv[1])
from phasefit.cli.app import app
results = []
for words in {commands!r}:
    try:
        app(words, prog_name="phasefit")
    except SystemExit as exit:
        results.append(exit.code)
print(results, sorted({{"torch", "transformers", "sentence_transformers", "sklearn", "scipy"}} & {{*sys.modules}}))
"""


def test_they_import_no_torch(tmp_path: Path, tiny_folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "table.csv").write_text("text,label\n" + "".join(f"text {row},{row % 2}\n" for row in range(20)))
    commands = {
        "predict empty --say hello": "'empty' is not a model",
        "predict nothing --say hello": "there is no run 'nothing'",
        f"predict {tiny_folder} --say hello": "is an encoder, not a run; train a classifier",
        "evaluate empty table.csv": "'empty' is not a model",
        "embed runs/nothing table.csv -o vectors.npy": "model 'runs/nothing': there is no such folder",
        "embed empty table.csv -o vectors.npy": "'empty' is not a model",
        "geometry empty table.csv": "'empty' is not a phasefit model",
        "train table.csv --model runs/nothing": "model 'runs/nothing': there is no such folder",
        "train table.csv --model empty --plan": "'empty' is not a model",
    }
    if version("torch").endswith("+cpu"):
        commands[f"train table.csv --quiet --device cuda --model {tiny_folder}"] = "--device cuda: this machine has no"
    program = PROGRAM.format(commands=[words.split() for words in commands])
    line = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    errors = [one for one in done.stderr.splitlines() if one.startswith("phasefit: ")]
    assert done.stdout.splitlines()[-1:] == [f"{[2] * len(commands)} []"], (done.stdout, done.stderr)
    for message, error in zip(commands.values(), errors, strict=True):
        assert message in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "runs", "table.csv"]
    assert not any((tmp_path / "runs").iterdir())


def test_no_run_folder_for_an_unknown_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phasefit.errors import ModelError
    from phasefit.runs.train import train
    from specs import run_spec

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    spec = run_spec(([f"text {row}" for row in range(40)], ["a", "b"] * 20), model="nobody/nothing")
    with pytest.raises(ModelError, match="nobody/nothing"):
        train(spec, lambda event: None)
    assert not list(tmp_path.iterdir())


def test_scikit_learn_is_loaded_when_one_of_its_functions_is_called() -> None:
    program = (
        "import sys; from phasefit.models.encoder.library import without_scikit_learn\n"
        "assert 'sentence_transformers' in sys.modules and 'sklearn' not in sys.modules\n"
        "with without_scikit_learn():\n"
        "    from sklearn.metrics import accuracy_score\n"
        "assert 'sklearn' not in sys.modules\n"
        "assert accuracy_score([1, 0], [1, 1]) == 0.5 and hasattr(sys.modules['sklearn'], 'base')\n"
        "with without_scikit_learn():\n"
        "    from sklearn.metrics import accuracy_score as real\n"
        "assert real.__module__.startswith('sklearn.metrics.')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["train", "snips", "--recipe", "auto", "--minutes", "0"], "--minutes must be above 0, not 0"),
        (
            ["predict", "{run}", "--say", "x", "--probabilities", "top:2"],
            "--say always shows the most probable classes",
        ),
    ],
)
def test_options_that_cannot_apply(tmp_path: Path, line: list[str], message: str) -> None:
    run = tmp_path / "run"
    if "{run}" in line:
        TextClassifier("tfidf").fit(*make_table(60)).save(run, report=False)
    result = CliRunner().invoke(app, [word.format(run=run) for word in line])
    assert result.exit_code == 2
    assert message in result.stderr
