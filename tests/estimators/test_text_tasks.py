"""Several tasks trained and predicted from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import phasefit
from phasefit import DataError, ModelError, RecipeError, TextClassifier, TextRegressor, TextTasks
from phasefit.runs.run import Run
from tiny import make_table, same, weights

TEXTS, LABELS = make_table(40)
PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))
TABLES: dict[str, Any] = {
    "topic": (TEXTS, LABELS),
    "size": (TEXTS[:30], [float(len(text)) for text in TEXTS[:30]]),
    "tags": (TEXTS, [{label, "all"} for label in LABELS]),
}


@pytest.fixture
def make(tiny_folder: Path):
    def make(**options: Any) -> TextTasks:
        settings = {"multitask.max_steps": 4, "multitask.batch_size": 8}
        return TextTasks(**{"model": str(tiny_folder), "settings": settings, **options})

    return make


@pytest.fixture(scope="module")
def fitted(tiny_folder: Path) -> TextTasks:
    settings = {"multitask.max_steps": 4, "multitask.batch_size": 8, "multitask.tasks.topic.weight": 2}
    return TextTasks(model=str(tiny_folder), settings=settings).fit(TABLES)


def test_tables_of_several_kinds_are_learned_together(fitted: TextTasks) -> None:
    assert list(fitted.tasks_) == ["topic", "size", "tags"]
    assert isinstance(fitted["topic"], TextClassifier)
    assert isinstance(fitted["size"], TextRegressor)
    every = fitted.predict(TEXTS[:3])
    assert isinstance(every, dict)
    assert every["size"].dtype == float
    assert set(every["topic"]) <= set(LABELS)
    assert np.array_equal(fitted.predict(TEXTS[:3], task="topic"), every["topic"])
    assert fitted["topic"].predict_proba(TEXTS[:2]).shape == (2, 3)
    assert fitted.transform(TEXTS[:2]).shape == (2, 32)
    assert set(fitted.validation_metrics_["tasks"]) == set(TABLES)
    with pytest.raises(ModelError, match="no task 'topics'; did you mean 'topic'"):
        fitted.predict(TEXTS, task="topics")


def test_they_are_saved_like_a_run_and_loaded_again(fitted: TextTasks, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model", report=False)
    again = phasefit.load(tmp_path / "model")
    assert isinstance(again, TextTasks)
    assert again.get_params() == fitted.get_params()
    assert np.array_equal(again["topic"].predict_proba(TEXTS[:3]), fitted["topic"].predict_proba(TEXTS[:3]))
    assert set(Run.open(tmp_path / "model").metrics["validation"]["tasks"]) == set(TABLES)
    assert TextRegressor.load(tmp_path / "model", task="size").predict(TEXTS[:2]).shape == (2,)


def test_a_task_file_gives_the_same_weights(make, tmp_path: Path) -> None:
    lines = [f"{text}\t{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "topic.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "tasks.toml").write_text('[[task]]\nname = "topic"\ndata = "topic.tsv"\n', encoding="utf-8")
    tasks = make()
    more = {"recipe": "multitask", "model": tasks.model, "settings": tasks.settings, "test_size": 0.0}
    run = phasefit.train(tmp_path / "tasks.toml", **more, report=False, out=tmp_path / "run")
    assert same(weights(run.model), weights(tasks.fit({"topic": (TEXTS, LABELS)}).model_))


def test_weights_validation_and_kinds_of_single_tasks(make) -> None:
    tables = {"topic": (TEXTS, LABELS), "stars": (TEXTS, [len(text) % 3 for text in TEXTS])}
    events: list[Any] = []
    plain = make().fit(tables, kinds={"stars": "score"})
    assert isinstance(plain["stars"], TextRegressor)
    heavy = {"topic": np.linspace(0, 2, 40)}
    validation = {"topic": (["a new song", "more rain", "some pizza"], ["music", "weather", "food"])}
    weighted = make(listener=events.append).fit(tables, None, heavy, kinds={"stars": "score"}, validation=validation)
    assert not same(weights(plain.model_), weights(weighted.model_))
    assert weighted.validation_metrics_["tasks"]["topic"]["rows"] == 3


def test_clone_and_parameters(make) -> None:
    tasks = make(seed=3)
    assert clone(tasks).get_params() == tasks.get_params()
    assert tasks.set_params(settings__multitask__lr=1e-3).settings["multitask.lr"] == 1e-3


@pytest.mark.parametrize(
    ("tables", "more", "message"),
    [
        ({}, {}, "expected a dict of tables"),
        ((TEXTS, LABELS), {}, "expected a dict of tables"),
        ({"topic": TEXTS}, {}, r"task 'topic': expected \(texts, labels\), not list"),
        ({"to pic": (TEXTS, LABELS)}, {}, "the name 'to pic' may contain only letters"),
        ({"train": (TEXTS, LABELS)}, {}, "a task cannot be named 'train'"),
        ({"topic": (TEXTS, LABELS)}, {"kinds": {"topics": "single"}}, "kinds: there is no task 'topics'"),
        ({"topic": (TEXTS, LABELS[:3])}, {}, "^task 'topic': .*40 texts but 3 labels"),
    ],
)
def test_bad_tables_are_refused(make, tables: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make().fit(tables, **more)


def test_a_recipe_for_one_table_is_refused(make) -> None:
    with pytest.raises(RecipeError, match="recipe 'finetune' trains one table"):
        make(recipe="finetune").fit(TABLES)
