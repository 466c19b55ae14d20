"""The public functions: what Python users import from `phasefit`."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import phasefit
from phasefit import TextClassifier, TextEncoder, TextRegressor, TextTasks
from phasefit.cli.train import train as command
from phasefit.events import Event, Note
from phasefit.runs.run import Run
from phasefit.runs.specification import DEFAULTS
from tiny import make_table, without_checksums

TEXTS, LABELS = make_table(48, 3)
SETTINGS = {"finetune.epochs": 1}
FUNCTIONS = (phasefit.train, phasefit.resume, phasefit.load, phasefit.read_table)


def fast(folder: Path, **more: Any) -> dict[str, Any]:
    return {"recipe": "finetune", "settings": SETTINGS, "model": str(folder), "report": False, **more}


@pytest.fixture(scope="module")
def run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> phasefit.train:
    out = tmp_path_factory.mktemp("public") / "run"
    events: list[Event] = []
    result = phasefit.train((TEXTS, LABELS), **fast(tiny_folder), out=out, seed=3, listener=events.append)
    assert any(isinstance(event, Note) for event in events)
    return result


def test_train_writes_a_run_and_load_predicts_with_it(run: Any) -> None:
    model = phasefit.load(run.folder)
    assert isinstance(model, TextClassifier)
    assert set(model.predict(TEXTS)) <= set(LABELS)
    assert model.predict_proba(TEXTS[:2]).shape == (2, 3)
    assert run.metrics["test"]["rows"] > 0
    again = phasefit.resume(run.folder)
    assert again.metrics == run.metrics, "a finished run does not change"


def test_a_run_is_loaded_with_its_recipe_settings_and_seed(run: Any) -> None:
    model = TextClassifier.load(run.folder)
    assert (model.recipe, model.settings, model.seed) == ("finetune", SETTINGS, 3)


def test_a_run_is_loaded_with_its_effort(tiny_folder: Path, tmp_path: Path) -> None:
    options = fast(tiny_folder, recipe="default", settings={"contrast.max_steps": 2, "finetune.max_steps": 2})
    result = phasefit.train((TEXTS, LABELS), **options, effort=4, out=tmp_path / "run")
    assert Run.open(result.folder).manifest["effort"] == 4
    model = TextClassifier.load(result.folder)
    assert (model.recipe, model.effort) == ("few-shot", 4)
    with pytest.raises(ValueError, match="`effort` must be from 1 to 5, not 0"):
        TextClassifier(effort=0).fit(TEXTS, LABELS)


def test_a_saved_estimator_is_loaded_with_its_parameters(tiny_folder: Path, tmp_path: Path) -> None:
    fitted = TextClassifier("finetune", settings=SETTINGS, model=str(tiny_folder), seed=5, reject=0.1).fit(
        TEXTS, LABELS
    )
    fitted.save(tmp_path / "saved")
    saved = TextClassifier.load(tmp_path / "saved")
    assert saved.get_params() == fitted.get_params()
    np.testing.assert_array_equal(saved.predict_proba(TEXTS[:4]), fitted.predict_proba(TEXTS[:4]))
    again = clone(saved).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(again.predict_proba(TEXTS[:4]), fitted.predict_proba(TEXTS[:4]))


def test_a_run_of_a_recipe_file_is_loaded_with_its_own_file(tiny_folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('# mine\n[[phase]]\nkind = "finetune"\nepochs = 1\n', encoding="utf-8")
    result = phasefit.train((TEXTS, LABELS), recipe=mine, model=tiny_folder, report=False, out=tmp_path / "run")
    assert TextClassifier.load(result.folder).recipe == str(tmp_path / "run" / "recipe.toml")


def test_a_recipe_is_read_and_trained_from_python(run: Any, tiny_folder: Path, tmp_path: Path) -> None:
    recipe = phasefit.Recipe.read("finetune", {"finetune": {"epochs": 1}})
    assert (recipe.name, recipe.phase_names, recipe.phases[0].epochs) == ("finetune", ["finetune"], 1)
    more = {**fast(tiny_folder), "recipe": recipe, "settings": None}
    result = phasefit.train((TEXTS, LABELS), **more, out=tmp_path / "run", seed=3)
    assert result.metrics["test"] == run.metrics["test"]
    changed = {**more, "settings": {"finetune.epochs": 2}}
    assert phasefit.train((TEXTS, LABELS), **changed, out=tmp_path / "more").folder == tmp_path / "more"
    assert "epochs = 2" in (tmp_path / "more" / "recipe.toml").read_text(encoding="utf-8")
    with pytest.raises(phasefit.RecipeError, match=r'^settings={"finetune.epoch": 1}'):
        phasefit.Recipe.read("finetune", {"finetune.epoch": 1})


def test_load_of_scores_and_of_an_encoder(tiny_folder: Path, tmp_path: Path) -> None:
    scores = [float(len(text)) for text in TEXTS]
    result = phasefit.train((TEXTS, scores), **fast(tiny_folder), kind="score", out=tmp_path / "scores")
    regressor = phasefit.load(result.folder)
    assert isinstance(regressor, TextRegressor)
    assert regressor.predict(TEXTS[:3]).dtype == float
    encoder = phasefit.load(tiny_folder)
    assert isinstance(encoder, TextEncoder)
    assert encoder.transform(TEXTS[:2]).shape[0] == 2


def test_load_of_several_tasks(tiny_folder: Path, tmp_path: Path) -> None:
    for name, labels in (("topic", LABELS), ("size", [float(len(text)) for text in TEXTS])):
        lines = [f"{text}\t{label}" for text, label in zip(TEXTS, labels, strict=True)]
        (tmp_path / f"{name}.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    kinds = {"topic": "single", "size": "score"}
    lines = [f'[[task]]\nname = "{name}"\ndata = "{name}.tsv"\nkind = "{kind}"\n' for name, kind in kinds.items()]
    (tmp_path / "tasks.toml").write_text("".join(lines), encoding="utf-8")
    settings = {"multitask.epochs": 1}
    more = fast(tiny_folder, recipe="multitask", settings=settings, out=tmp_path / "run")
    result = phasefit.train(tmp_path / "tasks.toml", **more)
    model = phasefit.load(result.folder)
    assert isinstance(model, TextTasks)
    assert isinstance(model["topic"], TextClassifier)
    assert isinstance(model["size"], TextRegressor)
    every = model.predict(TEXTS[:3])
    assert set(every) == {"topic", "size"}
    np.testing.assert_array_equal(model.predict(TEXTS[:3], task="topic"), every["topic"])
    assert model.transform(TEXTS[:2]).shape[0] == 2
    with pytest.raises(phasefit.ModelError, match="no task 'topics'; did you mean 'topic'"):
        model.predict(TEXTS, task="topics")
    with pytest.raises(phasefit.ModelError, match=r"several tasks; choose one with `task`: topic, size"):
        TextClassifier.load(result.folder)
    assert TextClassifier.load(result.folder, task="topic").predict(TEXTS[:2]).shape == (2,)


def test_read_table_reads_columns_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("wording,mark\na song,music\nrain,weather\n", encoding="utf-8")
    table = phasefit.read_table(path, text="wording", label="mark")
    assert (list(table.texts), list(table.labels or ())) == (["a song", "rain"], ["music", "weather"])
    with pytest.raises(phasefit.DataError) as caught:
        phasefit.read_table(path)
    assert "`text`" in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"reject": 2.0}, "`reject` must be a share"),
        ({"settings": {"finetune.epoch": 1}}, 'settings={"finetune.epoch": 1}'),
        ({"kind": "kinds"}, "unknown kind"),
        ({"device": "toaster"}, "`device` toaster"),
        ({"unseen": "ignore"}, "`unseen` ignore: unknown choice"),
        ({"fold": "2/5"}, "`fold` must be two numbers such as (2, 5), not '2/5'"),
        ({"settings": ["finetune.epochs=1"]}, "settings must be a dict"),
        ({"seed": -1}, "`seed` must be at least 0, not -1"),
        ({"seed": "a"}, "`seed` must be a whole number, not 'a'"),
        ({"checkpoint_minutes": -1}, "`checkpoint_minutes` must be at least 0"),
        ({"top_classes": 1}, "`top_classes` must be at least 2, not 1"),
        ({"threads": 10**9}, "`threads` must be from 1 to 1024"),
        ({"settings": {3: 4}}, "settings: 3 is not the name of an option"),
        ({"seed": True}, "`seed` must be a whole number, not True"),
        ({"test_size": None}, "`test_size` must be a number, not None"),
        ({"recipe": 3}, "`recipe` must be a string, not 3"),
        ({"text": 3}, "expected a column name or a list of column names, not 3"),
        ({"kind": ["single"]}, "`kind` must be a string or None"),
        ({"threads": 1.5}, "`threads` must be a whole number or None, not 1.5"),
    ],
)
def test_errors_name_parameters(options: dict[str, Any], expected: str, tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(phasefit.PhasefitError) as caught:
        phasefit.train((TEXTS, LABELS), **{**fast(tiny_folder), **options}, out=tmp_path / "run")
    assert expected in str(caught.value)
    assert not re.search(r"(?<![\w-])--[a-z]", str(caught.value))
    assert not (tmp_path / "run").exists()


def test_read_table_refuses_values_of_a_wrong_type() -> None:
    for options in ({"tree": 3}, {"separator": 3}, {"kind": ["single"]}, {"text": 3}, {"label": [3]}, {"data_dir": 3}):
        with pytest.raises(phasefit.PhasefitError):
            phasefit.read_table((TEXTS, LABELS), **options)
    with pytest.raises(phasefit.DataError, match="column 'label' must be a list of values, not 3"):
        phasefit.read_table({"text": TEXTS, "label": 3})


def test_levels_and_classes_may_be_numbers() -> None:
    numbers = [1, 2] * (len(TEXTS) // 2)
    assert list(phasefit.read_table((TEXTS, numbers), levels=[1, 2]).labels or ())[:2] == [0.0, 1.0]


@pytest.mark.filterwarnings("ignore::phasefit.errors.UnverifiedModel")
def test_damaged_files_of_a_run_are_errors(run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    without_checksums(shutil.copytree(run.folder, folder))
    (folder / "recipe.toml").write_bytes(b"\xff\xfe")
    assert phasefit.load(folder, device="cpu").recipe == str(folder / "recipe.toml")
    with pytest.raises(phasefit.ModelError, match=r"recipe\.toml' is damaged"):
        _ = Run.open(folder).recipe
    next(folder.glob("encoder/*_Pooling/config.json")).unlink()
    with pytest.raises(phasefit.ModelError, match="it is damaged"):
        phasefit.load(folder, device="cpu")


def test_an_existing_run_is_refused_with_python_parameters(run: Any, tiny_folder: Path) -> None:
    with pytest.raises(phasefit.RunError, match=r"already holds a run; give another folder with `out`, .*`overwrite`"):
        phasefit.train((TEXTS, LABELS), **fast(tiny_folder), out=run.folder)


@pytest.mark.parametrize(
    "public",
    [TextClassifier, TextRegressor, TextEncoder, TextTasks, phasefit.Recipe, *FUNCTIONS],
    ids=lambda public: public.__name__,
)
def test_every_parameter_is_documented(public: Any) -> None:
    documentation = inspect.getdoc(public) or ""
    section = documentation.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    documented = {name for line in section.splitlines() if not line.startswith(" ") for name in line.split(", ")}
    parameters = [name for name in inspect.signature(public).parameters if name != "self"]
    assert sorted(documented) == sorted(parameters)


def test_train_has_the_options_of_the_command_and_their_defaults() -> None:
    parameters = inspect.signature(phasefit.train).parameters
    only_python = {"listener", "report", "verbose"}
    only_command = {"ctx", "epochs", "lr", "batch_size", "plan", "resume", "json", "quiet", "push"}
    assert set(parameters) - only_python == set(inspect.signature(command).parameters) - only_command
    for name, parameter in parameters.items():
        if name in DEFAULTS and name != "data":
            assert (parameter.default or None) == (DEFAULTS[name] or None), name
