"""Runs of the recipes `tfidf` and `frozen`: they predict like any other run, for every kind of label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import phasefit
from phasefit.baselines import baseline
from phasefit.baselines.contract import FitOptions
from phasefit.cli.app import app
from phasefit.errors import ModelError, RecipeError
from phasefit.files.integrity import compare_files
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import Needs
from phasefit.report import write_run_report
from phasefit.runs.execution import fit_spec
from phasefit.runs.plan import plan
from phasefit.runs.run import Run
from phasefit.runs.train import train
from specs import prepare, run_spec
from tiny import make_table, tree

TEXTS, NAMES = make_table(60)
TEXTS = [f"{text} {row}" for row, text in enumerate(TEXTS)]
LABELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "single": (NAMES, {}),
    "tree": (tree(NAMES), {}),
    "multi": ([[name, "all"] if row % 2 else [name] for row, name in enumerate(NAMES)], {}),
    "score": ([len(name) + row / 100 for row, name in enumerate(NAMES)], {"kind": "score"}),
}


def spec_of(kind: str, recipe: str, model: Path, *, pairs: bool = False, **more: Any) -> Any:
    labels, options = LABELS[kind]
    frame = pd.DataFrame({"text_a": TEXTS, "text_b": TEXTS[::-1]} if pairs else {"text": TEXTS})
    frame["label"] = labels
    given = {} if recipe == "tfidf" else {"model": str(model)}
    return run_spec(frame, recipe=recipe, device="cpu", **options, **given, **more)


@pytest.mark.parametrize("options", [{"precision": "bf16"}, {"compile": True}], ids=["precision", "compile"])
@pytest.mark.parametrize("recipe", ["tfidf", "frozen"])
def test_options_of_training_are_refused(tiny_folder: Path, recipe: str, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(RecipeError, match=f"recipe '{recipe}' trains no encoder, so --{name} has no effect"):
        fit_spec(spec_of("single", recipe, tiny_folder, **options), lambda event: None)


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("recipe", ["tfidf", "frozen"])
def test_a_run_is_the_model_that_compare_measures(tiny_folder: Path, recipe: str, kind: str, pairs: bool) -> None:
    spec = spec_of(kind, recipe, tiny_folder, pairs=pairs, calibrate=False)
    result = fit_spec(spec, lambda event: None)
    prepared = prepare(spec, None, Needs(labels_of_pairs=True))
    assert prepared.test is not None
    outputs = baseline(recipe).fit(prepared, FitOptions(model=str(tiny_folder), device="cpu"))(prepared.test)
    assert np.allclose(result.outputs["test"]["default"], outputs, atol=1e-5)
    assert result.metrics["test"]["rows"] == len(prepared.test)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and a finished TF-IDF run with its report."""
    folder = tmp_path_factory.mktemp("words")
    pd.DataFrame({"text": TEXTS, "label": NAMES}).to_csv(folder / "table.csv", index=False)
    spec = run_spec(str(folder / "table.csv"), recipe="tfidf", refit=True, out=folder / "run")
    train(spec, lambda event: None, report=write_run_report)
    return folder


def invoke(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)], prog_name="phasefit")


def test_its_folder_is_complete(world: Path) -> None:
    run = Run.open(world / "run")
    assert {*compare_files(run.folder, run.manifest).values()} == {"intact"}
    assert "terms.json" in run.manifest["files"]
    assert run.metrics["phases"] == []
    assert run.metrics["refit"]["rows"] == 60
    assert run.recipe is not None
    assert run.recipe.baseline == "tfidf"
    card = (run.folder / "README.md").read_text(encoding="utf-8")
    assert "A linear text classifier with 3 classes, fitted with phasefit." in card
    assert "SentenceTransformer" not in card
    assert "history.png" not in card
    assert (run.folder / "report.html").is_file()
    assert invoke("verify", run.folder).exit_code == 0


def test_commands_and_python_predict_with_it(world: Path, tmp_path: Path) -> None:
    words = ("predict", world / "run", world / "table.csv", "-o", tmp_path / "out.csv")
    assert invoke(*words).exit_code == 0
    predicted = pd.read_csv(tmp_path / "out.csv")
    assert (predicted["prediction"] == predicted["label"]).mean() > 0.9
    assert invoke("predict", world / "run", "--say", TEXTS[0]).exit_code == 0
    evaluated = invoke("evaluate", world / "run", world / "table.csv", "--json", "--quiet")
    assert json.loads(evaluated.stdout)["accuracy"] > 0.9
    loaded = phasefit.load(world / "run")
    assert isinstance(loaded, phasefit.TextClassifier)
    assert loaded.recipe == "tfidf"
    assert list(loaded.predict(TEXTS)) == predicted["prediction"].tolist()
    loaded.save(tmp_path / "saved")
    assert np.array_equal(
        phasefit.TextClassifier.load(tmp_path / "saved").predict_proba(TEXTS), loaded.predict_proba(TEXTS)
    )


def test_what_needs_an_encoder_refuses_it_by_name(world: Path, tmp_path: Path) -> None:
    run, table = world / "run", world / "table.csv"
    for words in (
        ("embed", run, table, "-o", tmp_path / "vectors.npy"),
        ("geometry", run),
        ("geometry", run, table),
        ("train", table, "--model", run),
        ("train", table, "--model", run, "--plan"),
        ("train", table, "--model", run, "--recipe", "auto"),
        ("compare", table, "--model", run, "-r", "majority,finetune", "-o", tmp_path / "study"),
        ("search", table, "--model", run, "-o", tmp_path / "best.toml"),
    ):
        result = invoke(*words)
        assert result.exit_code == 2, (words, result.output)
        assert "is a TF-IDF model (recipe 'tfidf') and has no encoder" in result.stderr.splitlines()[-1], words
    for refused in (lambda: phasefit.load(run).transform(TEXTS), lambda: phasefit.TextEncoder.load(run)):
        with pytest.raises(ModelError, match="TF-IDF model"):
            refused()
    with pytest.raises(RecipeError, match="trains no encoder; use TextClassifier"):
        phasefit.TextEncoder(recipe="tfidf").fit(TEXTS)


def test_what_a_baseline_recipe_refuses(world: Path, tiny_folder: Path) -> None:
    def error(**options: Any) -> str:
        with pytest.raises(RecipeError) as refused:
            fit_spec(run_spec(str(world / "table.csv"), **options), lambda event: None)
        return str(refused.value)

    assert "so --model has no effect" in error(recipe="tfidf", model=str(tiny_folder))
    assert "so long has no effect" in error(recipe="tfidf", settings={"long": "windows"})
    assert "this recipe has no 'finetune'" in error(recipe="frozen", settings={"finetune.epochs": 2})
    assert read_recipe("frozen", {"max_length": 16}).to_toml().endswith('max_length = 16\nbaseline = "frozen"\n')
    planned = plan(run_spec(str(world / "table.csv"), recipe="tfidf"), lambda event: None)
    assert planned.phases == []
    assert "usually takes seconds" in planned.notes[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('baseline = "setfit"', "a recipe cannot train the baseline 'setfit'"),
        ('baseline = "tfidf"\n[[phase]]\nkind = "finetune"', "either a baseline or 'phase', not both"),
        ('baseline = "tfidf"\nbase = "finetune"', "either a baseline or 'base', not both"),
        ('baseline = "tfidf"\nprompt = "{text} {mask}"', "so prompt has no effect"),
        ("baseline = 3", "cannot train the baseline '3'"),
    ],
)
def test_recipe_files_with_a_baseline(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_recipe(str(tmp_path / "own.toml"))


def test_a_single_class_and_labels_of_all_rows(tiny_folder: Path) -> None:
    spec = spec_of("multi", "tfidf", tiny_folder, test_size=0.0, validation_size=0.0)
    spec = spec.replace(data=pd.DataFrame({"text": TEXTS, "label": [["all", name] for name in NAMES]}))
    model = fit_spec(spec, lambda event: None).model
    assert model.predict_outputs(["song"])[0, model.space.names.index("all")] == pytest.approx(1.0)
