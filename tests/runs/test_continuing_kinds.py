"""Continuing from runs of several tasks, of several labels, of scores and of pairs, with a tiny encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from phasefit.errors import LabelError, RecipeError
from phasefit.events import Event, Note
from phasefit.models.storage import load_model
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.needs import Needs
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.job import TrainResult
from running import train
from specs import prepare, run_spec
from tiny import make_table, read_json, write_csv

QUICK = ("finetune.max_steps=1", "finetune.min_steps=1")
TASKS = ("multitask.max_steps=2", "multitask.min_steps=1")
LEVELS = ("bad", "fair", "good")
TEXTS, NAMES = make_table(60)
NEEDS = Needs(labels=True, tasks=True)
Going = Callable[..., TrainResult]


@pytest.fixture(scope="module", autouse=True)
def _no_reports() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phasefit.report.run.write_report", lambda *_, **__: None)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of every kind, and task files that list them."""
    folder = tmp_path_factory.mktemp("tables")
    write_csv(folder / "topics.csv", TEXTS, NAMES)
    more, names = make_table(60, classes=4, seed=7)
    write_csv(folder / "more.csv", more, names)
    write_csv(folder / "stars.csv", *_stars())
    texts, _ = make_table(60, seed=2)
    pairs = pd.DataFrame({"text_a": texts[:30], "text_b": texts[30:], "label": ["yes", "no"] * 15})
    pairs.to_csv(folder / "pairs.csv", index=False)
    write_csv(folder / "tags.csv", make_table(60, seed=3)[0], ["a|b", "b|c", "a", "c"] * 15)
    write_csv(folder / "moods.csv", make_table(60, seed=4)[0], LEVELS * 20)
    (folder / "one.toml").write_text(task("topics"))
    (folder / "three.toml").write_text(task("topics") + task("stars") + task("pairs"))
    (folder / "grown.toml").write_text(task("topics", "more") + task("stars"))
    return folder


def _stars() -> tuple[list[str], list[str]]:
    return make_table(60, seed=1)[0], [f"{row / 12:.2f}" for row in range(60)]


def task(name: str, data: str | None = None) -> str:
    return f'[[task]]\nname = "{name}"\ndata = "{data or name}.csv"\n\n'


@pytest.fixture(scope="module")
def go(folder: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Going:
    """`go("topics.csv", "name of the run")`: a run of one or two steps."""
    runs = tmp_path_factory.mktemp("runs")

    def go(data: str, name: str, listen: Callable[[Event], None] = lambda _: None, **options: Any) -> TrainResult:
        recipe, settings = ("multitask", TASKS) if data.endswith(".toml") else ("finetune", QUICK)
        own: dict[str, Any] = {"model": str(tiny_folder), "recipe": recipe, "settings": settings, "out": runs / name}
        return train(run_spec(str(folder / data), **{**own, **options}), listen)

    return go


@pytest.fixture(scope="module")
def one(go: Going) -> TrainResult:
    return go("one.toml", "one")


@pytest.fixture(scope="module")
def three(go: Going) -> TrainResult:
    return go("three.toml", "three", refit=True)


@pytest.fixture(scope="module")
def pairs(go: Going) -> TrainResult:
    return go("pairs.csv", "pairs")


# --- one task ---------------------------------------------------------------------------------------------------------


def test_one_task_continues_as_one_table(one: TrainResult, go: Going) -> None:
    assert list(load_model(one.folder).heads) == ["topics"]
    again = go("more.csv", "on from one", model=str(one.folder))
    model = load_model(again.folder)
    assert list(model.heads) == list(model.spaces) == ["default"]
    assert list(read_json(again.folder / "phasefit.json")["heads"]) == ["default"]
    assert list(read_json(again.folder / "labels.json")) == ["default"]
    assert model.space.names == ["food", "music", "weather", "travel"]
    assert len(model.predict(TEXTS[:5])) == 5
    assert model.predict_proba(TEXTS[:5]).shape == (5, 4)


def test_one_task_continues_by_its_name(one: TrainResult, go: Going) -> None:
    again = go("one.toml", "on by name", model=str(one.folder))
    assert list(load_model(again.folder).heads) == ["topics"]


def test_the_head_of_a_single_task_is_kept(one: TrainResult, go: Going) -> None:
    before = load_model(one.folder).head("topics")
    still = (*QUICK, f"finetune.head={before.kind}", "finetune.lr=1e-12", "finetune.lrs.head=1e-12")
    after = go("topics.csv", "same head", model=str(one.folder), settings=still).model.head("default").state_dict()
    for name, value in before.state_dict().items():
        assert torch.allclose(after[name], value, atol=1e-6), name


def test_a_new_class_needs_a_phase_that_grows_the_head(one: TrainResult, go: Going) -> None:
    alone: dict[str, Any] = {"model": str(one.folder), "recipe": "simcse", "settings": ("simcse.max_steps=1",)}
    with pytest.raises(RecipeError, match="simcse: the model has no class 'travel'; add a finetune phase"):
        go("more.csv", "a new class", **alone)
    assert go("topics.csv", "no new class", **alone).model.space.names == ["food", "music", "weather"]


def test_levels_need_no_phase_that_grows_the_head(go: Going) -> None:
    first = go("moods.csv", "a scale", levels=LEVELS)
    again = go(
        "moods.csv", "on from levels", model=str(first.folder), recipe="simcse", settings=("simcse.max_steps=1",)
    )
    assert again.model.space.names == list(LEVELS)


# --- levels, scores, several labels -----------------------------------------------------------------------------------


def prepared(run: TrainResult, data: Any, **options: Any) -> Prepared:
    return prepare(run_spec(data, **options), base_run(str(run.folder)))


def test_a_small_table_continues_with_levels(go: Going, tmp_path: Path) -> None:
    run = go("moods.csv", "levels", levels=LEVELS)
    few = write_csv(tmp_path / "few.csv", [f"new {row}" for row in range(12)], ["good", "bad"] * 6)
    again = go(str(few), "on with levels", model=str(run.folder))
    assert again.model.space == run.model.space
    assert set(again.model.predict(TEXTS)) <= set(LEVELS)
    for levels in (LEVELS[::-1], ("bad", "good")):
        with pytest.raises(
            LabelError, match="the levels of the model are bad, fair, good and those of the table "
        ) as caught:
            prepared(run, few, levels=levels)
        assert "\n" not in str(caught.value)


def test_a_small_table_continues_with_scores(go: Going, tmp_path: Path) -> None:
    run = go("stars.csv", "scores")
    few = write_csv(tmp_path / "few.csv", [f"new {row}" for row in range(12)], ["0.5", "1.5"] * 6)
    data = prepared(run, few)
    assert (data.space.kind, data.space) == ("score", run.model.space)
    assert set(data.train.labels or ()) == {0.5, 1.5}


def test_a_small_table_continues_with_several_labels(go: Going, tmp_path: Path) -> None:
    run = go("tags.csv", "tags")
    few = write_csv(tmp_path / "few.csv", [f"new {row}" for row in range(16)], ["a", "b", "", "d"] * 4)
    again = go(str(few), "on with tags", model=str(run.folder))
    assert (again.model.space.kind, again.model.space.names) == ("multi", ["a", "b", "c", "d"])
    assert again.model.predict_proba(TEXTS[:3]).shape == (3, 4)


# --- training texts of the base run -----------------------------------------------------------------------------------


def test_pairs_that_a_run_was_trained_on_are_known_to_it(pairs: TrainResult, folder: Path) -> None:
    base = base_run(str(pairs.folder))
    assert base is not None
    frame = pd.read_csv(folder / "pairs.csv")
    needs = Needs(labels_of_pairs=True)
    trained = prepare(run_spec(frame), None, needs).train
    assert base.knows(trained).sum() == len(trained)
    loud = pd.DataFrame(
        {"text_a": [text.upper() for text in trained.texts], "text_b": trained.others[0], "label": trained.labels}
    )
    crossed = loud.assign(text_b=[f"unseen {row}" for row in range(len(loud))])
    for frame, known in ((loud, True), (crossed, False)):
        table = prepare(run_spec(frame, validation_size=0.0, test_size=0.0), None, needs).train
        assert set(base.knows(table).tolist()) == {known}


def test_several_tasks_keep_their_training_texts_in_train(go: Going, folder: Path) -> None:
    run = go("three.toml", "three without refit", seed=1)
    base = base_run(str(run.folder))
    assert base is not None
    assert set(base.tasks) == {"topics", "stars", "pairs"}
    before = prepare(run_spec(str(folder / "three.toml"), seed=1), None, NEEDS)
    after = prepare(run_spec(str(folder / "three.toml"), seed=5), base, NEEDS)
    for name, data in after.tasks.items():
        trained = set(before.tasks[name].train.same.tolist())
        held = {number for part in (data.validation, data.test) if part for number in part.same.tolist()}
        assert held
        assert not held & trained
        assert trained <= set(data.train.same.tolist())


def test_a_new_task_does_not_hold_out_texts_that_other_tasks_were_trained_on(three: TrainResult, folder: Path) -> None:
    base = base_run(str(three.folder))
    assert base is not None
    file = folder / "another.toml"
    file.write_text(task("another", "topics"))
    data = prepare(run_spec(str(file)), base, NEEDS)
    assert any("was already trained on all of these rows" in note for note in data.notes), "three was refitted on all"


# --- continuing with several tasks ------------------------------------------------------------------------------------


def test_heads_of_tasks_grow_for_new_classes(three: TrainResult, go: Going) -> None:
    still = (*TASKS, "multitask.lr=1e-12", "multitask.lrs.head=1e-12")
    again = go("grown.toml", "grown", model=str(three.folder), settings=still)
    model = load_model(again.folder)
    assert sorted(model.heads) == ["stars", "topics"], "the head of pairs goes: it was not trained here"
    assert model.space_of("topics").names == ["food", "music", "weather", "travel"]
    assert model.head("topics").classes == 4
    assert model.predict_proba(TEXTS[:5], task="topics").shape == (5, 4)
    old = load_model(three.folder).head("topics").state_dict()
    new = model.head("topics").state_dict()
    assert old.keys() == new.keys()
    for name, value in old.items():
        grown = new[name][: len(value)] if new[name].shape != value.shape else new[name]
        assert torch.allclose(grown, value, atol=1e-6), name
    for name, value in load_model(three.folder).head("stars").state_dict().items():
        assert torch.allclose(model.head("stars").state_dict()[name], value, atol=1e-6), name


def test_scores_of_a_task_keep_their_scale(three: TrainResult, go: Going, folder: Path) -> None:
    write_csv(folder / "few.csv", [f"new {row}" for row in range(12)], ["0.5", "1.5"] * 6)
    (folder / "few.toml").write_text(task("stars", "few"))
    again = go("few.toml", "few stars", model=str(three.folder))
    assert again.model.space_of("stars") == load_model(three.folder).space_of("stars")


def test_refitting_uses_the_rows_of_all_tasks(three: TrainResult) -> None:
    assert three.metrics["refit"]["rows"] == 60 + 60 + 30
    assert read_json(three.folder / "metrics.json")["refit"]["rows"] == 150
    base = base_run(str(three.folder))
    assert base is not None
    assert np.isin(prepare(run_spec((TEXTS, NAMES))).train.same, base.seen).all()


# --- pairs alone ------------------------------------------------------------------------------------------------------


def test_only_positive_pairs_are_trained_on(go: Going) -> None:
    events: list[Event] = []
    quick = ("mnr.max_steps=1", "mnr.min_steps=1")
    run = go("pairs.csv", "mnr", events.append, recipe="mnr", settings=quick)
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("15 of the 30 pairs are positive pairs (label 'yes')" in note for note in notes)
    assert run.metrics["phases"][0]["steps"] == 1
