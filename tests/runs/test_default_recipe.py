"""The default recipe fits the rows, and a note names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from phasefit.data.labels import label_space
from phasefit.data.table import Table
from phasefit.effort_levels import EFFORTS
from phasefit.errors import RecipeError
from phasefit.files.atomic import write_json
from phasefit.files.manifest import MANIFEST
from phasefit.recipes import read_recipe
from phasefit.runs.recipe.resolve import FEW_ROWS, SKIP_AT, requested_recipe, resolve_recipe
from specs import run_spec


def prepared_of(
    rows: int, classes: int, unlabelled: object = None, *, pairs: bool = False, kind: str = "single"
) -> Any:
    """The parts of the prepared data that the choice depends on."""
    space = label_space(list(range(classes))) if kind != "score" else label_space([0.5, 1.5, 2.5])
    labels = [row % classes for row in range(rows)]
    train = Table("some", ["a text"] * rows, labels, others=(["another"] * rows,) if pairs else ())
    return SimpleNamespace(train=train, space=space, unlabelled=unlabelled, file=None, tasks={}, trained_tables=[train])


@pytest.mark.parametrize(("given", "why"), [({"pairs": True}, "pairs of texts"), ({"kind": "score"}, "scores")])
def test_pairs_and_scores_are_fine_tuned(given: dict[str, Any], why: str) -> None:
    request, notes = run_spec("some.csv"), []
    recipe = resolve_recipe(request, requested_recipe(request), prepared_of(10, 5, **given), notes.append)
    assert recipe.name == "finetune"
    assert [note.text for note in notes] == [f"recipe: finetune (the default for {why}; change it with --recipe)"]


def resolved(rows: int, classes: int, *, unlabelled: object = None, **request: Any) -> tuple[str, list[str]]:
    """The name of the recipe for this number of rows, and the notes."""
    spec, notes = run_spec("some.csv", **request), []
    prepared = prepared_of(rows, classes, unlabelled)
    recipe = resolve_recipe(spec, requested_recipe(spec), prepared, notes.append)
    return recipe.name, [note.text for note in notes]


@pytest.mark.parametrize(("each", "name"), [(1, "few-shot"), (FEW_ROWS, "few-shot"), (FEW_ROWS + 1, "one-phase")])
def test_rows_per_class_decide(each: int, name: str) -> None:
    recipe, notes = resolved(7 * each, 7)
    assert recipe == name
    assert notes == [f"recipe: {name} (the default with {each} training rows per class; change it with --recipe)"]


def test_only_the_default_skips_phases_that_cannot_gain() -> None:
    default = requested_recipe(run_spec("some.csv"))
    assert [phase.skip_at for phase in default.phases] == [SKIP_AT, SKIP_AT, None]
    changed = requested_recipe(run_spec("some.csv", settings=("denoise.skip_at=0.9",)))
    assert changed.phases[0].skip_at == 0.9
    assert not any(phase.skip_at for phase in requested_recipe(run_spec("some.csv", recipe="three-phase")).phases)


def test_a_named_recipe_stays() -> None:
    assert resolved(10, 5, recipe="finetune") == ("finetune", [])


def test_a_note_names_the_batch_size_of_a_small_table() -> None:
    note = "finetune: batches of 6 instead of 32, because there are only 10 training rows (small_table_batch)"
    assert resolved(10, 5, recipe="finetune-paper") == ("finetune-paper", [note])
    assert resolved(501, 5, recipe="finetune-paper") == ("finetune-paper", [])


def test_unlabelled_texts_get_pseudo_labels_if_labelled_rows_are_few() -> None:
    name, notes = resolved(5 * FEW_ROWS, 5, unlabelled=["a text"])
    assert name == "self-train"
    why = f"for unlabelled texts with {FEW_ROWS} training rows per class"
    assert notes == [f"recipe: self-train (the default {why}; change it with --recipe)"]


@pytest.mark.parametrize("given", [{"settings": ("contrast.epochs=1",)}, {"effort": 5}], ids=["settings", "effort"])
def test_what_self_training_does_not_accept_selects_few_shot(given: dict[str, Any]) -> None:
    name, notes = resolved(20, 5, unlabelled=["a text"], **given)
    assert name == "few-shot"
    assert notes[0].startswith("recipe: few-shot (the default with 4 training rows per class")


def test_rounds_that_cannot_be_tested_select_few_shot() -> None:
    assert resolved(5, 5, unlabelled=["a text"])[0] == "few-shot", "one row of each class"
    spec, prepared = run_spec("some.csv"), prepared_of(20, 5, ["a text"])
    prepared.train = replace(prepared.train, weights=np.linspace(0.5, 1.5, 20))
    assert resolve_recipe(spec, requested_recipe(spec), prepared, lambda note: None).name == "few-shot"


def test_settings_of_self_training_are_accepted_with_texts() -> None:
    given = {"settings": ("self-train.texts=5000",)}
    spec = run_spec("some.csv", unlabelled="texts.csv", **given)
    prepared = prepared_of(20, 5, ["a text"])
    recipe = resolve_recipe(spec, requested_recipe(spec), prepared, lambda note: None)
    assert (recipe.name, recipe.phases[0].texts) == ("self-train", 5000)
    with pytest.raises(RecipeError, match="this recipe has no 'self-train'"):
        resolved(20, 5, **given)
    with pytest.raises(RecipeError, match=r"self-train\.guard=-1: option 'guard' must be"):
        requested_recipe(run_spec("some.csv", unlabelled="texts.csv", settings=("self-train.guard=-1",)))


def test_unlabelled_texts_are_denoised_if_there_are_many_labelled_rows() -> None:
    name, notes = resolved(5 * FEW_ROWS + 5, 5, unlabelled=object())
    assert name == "three-phase"
    assert "unlabelled texts" in notes[0]


def test_a_setting_of_a_phase_selects_a_recipe_with_that_phase() -> None:
    assert resolved(10, 5, settings=("denoise.epochs=1",))[0] == "three-phase"
    assert resolved(10, 5, settings=("contrast.epochs=1",))[0] == "few-shot"
    assert resolved(500, 5, settings=("contrast.epochs=1",))[0] == "three-phase"
    with pytest.raises(RecipeError, match="--set"):
        resolved(10, 5, settings=("contrast.epoch=1",))


@pytest.mark.parametrize("kind", ["mlp", "cosine"])
def test_continuing_from_a_run_keeps_its_head(kind: str, tmp_path: Path) -> None:
    head = {"kind": kind, "dimension": 32, "classes": 2, "dropout": 0.1}
    write_json(tmp_path / MANIFEST, {"format": 1, "status": "finished", "heads": {"default": head}})
    request = run_spec("some.csv", model=str(tmp_path))
    prepared = prepared_of(10, 5)
    recipe = resolve_recipe(request, requested_recipe(request), prepared, lambda note: None)
    assert recipe.name == "one-phase"
    assert recipe.phases[-1].head == kind


@pytest.mark.parametrize(("each", "name"), [(8, "few-shot"), (100, "one-phase")])
@pytest.mark.parametrize("effort", EFFORTS)
def test_the_default_has_every_effort(each: int, name: str, effort: int) -> None:
    spec = run_spec("some.csv", effort=effort)
    recipe = resolve_recipe(spec, requested_recipe(spec), prepared_of(5 * each, 5), lambda note: None)
    assert recipe.phases == read_recipe(name, effort=effort).phases


def test_recipes_without_efforts_refuse_them() -> None:
    with pytest.raises(RecipeError, match=r"three-phase\.toml: the recipe has no effort 5"):
        resolved(500, 5, unlabelled=object(), effort=5)
    with pytest.raises(RecipeError, match="this recipe has no 'denoise'"):
        resolved(10, 5, settings=("denoise.epochs=1",), effort=5)
    with pytest.raises(RecipeError, match="--effort must be from 1 to 5, not 6"):
        run_spec("some.csv", effort=6)
