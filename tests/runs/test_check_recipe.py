"""Options that do not fit the labels are refused before anything is trained or written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phasefit.errors import DataError, PhasefitError, RecipeError
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import Needs
from phasefit.runs.plan import plan
from phasefit.runs.recipe.check import idle_notes
from running import train
from specs import prepare, run_spec
from tiny import make_table

TEXTS, NAMES = make_table(60)
CLASSES = {"text": TEXTS, "label": NAMES}
SCORES = {"text": TEXTS, "label": [row / 7 for row in range(60)]}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "unlabelled": (CLASSES, {"recipe": "self-train"}, "self-train: learns from unlabelled texts, but there are none"),
    "pseudo-labels": (
        SCORES,
        {"recipe": "self-train", "kind": "score"},
        "self-train: pseudo-labels need one class per text, but the labels are of kind 'score'",
    ),
    "focal": (
        SCORES,
        {"settings": ("finetune.focal=2",), "kind": "score"},
        "focal applies only to classes",
    ),
    "weights": (
        SCORES,
        {"settings": ("finetune.class_weights=balanced",), "kind": "score"},
        "class_weights applies only",
    ),
    "levels": (CLASSES, {"settings": ("finetune.upper_levels=0.5",)}, "upper_levels applies only to tree labels"),
    "watch": (
        CLASSES,
        {"settings": ("finetune.watch=pearson",)},
        "cannot watch 'pearson' with labels of kind 'single'",
    ),
    "pair": (CLASSES, {"settings": ("finetune.pair=uv",)}, "--set finetune.pair=uv: pair sets how a head reads pairs"),
    "reject": (CLASSES, {"reject": 0.1, "validation_size": 0.0}, "--reject chooses its threshold on validation rows"),
}


def boom(*_: Any, **__: Any) -> None:
    raise AssertionError("something was trained")


@pytest.mark.parametrize("name", CASES)
def test_misfits_are_refused_before_anything_is_trained(
    name: str, tiny_folder: Path, tmp_path: Path, monkeypatch
) -> None:
    import pandas as pd

    table, options, message = CASES[name]
    monkeypatch.setattr("phasefit.runs.execution.starting_model", boom)
    monkeypatch.setattr("phasefit.runs.plan.starting_model", boom)
    given = {"recipe": "contrast-finetune", "model": str(tiny_folder), "out": str(tmp_path / "run"), **options}
    request = run_spec(pd.DataFrame(table), **given)
    for way in (train, plan):
        with pytest.raises(PhasefitError, match=message) as caught:
            way(request, lambda _: None)
        assert isinstance(caught.value, RecipeError | DataError)
    assert not (tmp_path / "run").exists()


def test_unknown_tasks_are_refused(tiny_folder: Path, tmp_path: Path, monkeypatch) -> None:
    from tiny import write_csv

    write_csv(tmp_path / "topics.csv", TEXTS, NAMES)
    (tmp_path / "tasks.toml").write_text('[[task]]\nname = "topics"\ndata = "topics.csv"\n')
    monkeypatch.setattr("phasefit.runs.execution.starting_model", boom)
    wrong = {
        "multitask.order=['topic']": "multitask: there is no task 'topic'; did you mean 'topics'",
        "multitask.tasks.topic.weight=2": "multitask: there is no task 'topic'; did you mean 'topics'",
        "multitask.tasks.topics.watch=pearson": "task 'topics': cannot watch 'pearson' with labels of kind 'single'",
        "multitask.tasks.topics.watch=log_loss": "lower is better for 'log_loss'",
        "multitask.tasks.topics.upper_levels=0.2": "upper_levels applies only to tree labels",
        "multitask.tasks.topics.pair=uv": "pair sets how a head reads pairs of texts, but these are single texts",
    }
    for setting, message in wrong.items():
        settings = ("multitask.mix=sequential", setting) if "order" in setting else (setting,)
        given: dict[str, Any] = {"recipe": "multitask", "settings": settings, "model": str(tiny_folder)}
        request = run_spec(str(tmp_path / "tasks.toml"), out=str(tmp_path / "run"), **given)
        with pytest.raises(RecipeError, match=message):
            train(request, lambda _: None)
        assert not (tmp_path / "run").exists()


def test_pair_is_refused_for_a_task_of_single_texts(tiny_folder: Path, tmp_path: Path, monkeypatch) -> None:
    from tiny import write_csv

    write_csv(tmp_path / "topics.csv", TEXTS, NAMES)
    (tmp_path / "tasks.toml").write_text('[[task]]\nname = "topics"\ndata = "topics.csv"\npair = "uv"\n')
    monkeypatch.setattr("phasefit.runs.execution.starting_model", boom)
    request = run_spec(str(tmp_path / "tasks.toml"), model=str(tiny_folder), recipe="multitask")
    with pytest.raises(DataError, match=r"^tasks.toml, task 'topics': pair sets how a head reads pairs of texts"):
        train(request, lambda _: None)


def test_windows_without_effect_are_reported() -> None:
    pairs = {"text_a": TEXTS, "text_b": TEXTS[::-1], "label": NAMES}
    pair, long = {"finetune.pair": "together"}, {"long": "windows"}
    prepared = prepare(run_spec(pairs), None, Needs(labels_of_pairs=True))
    notes = idle_notes(read_recipe("finetune", pair | long), prepared)
    assert [note.partition(":")[0] for note in notes] == ["--long windows has no effect on finetune"]
    assert not idle_notes(read_recipe("finetune", pair), prepared)
    assert not idle_notes(read_recipe("finetune", long), prepared)
