"""The step-matched fine-tuning of the three-phase study takes as many steps as the three phases together."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from phasefit.prepare.prepare import prepare
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.fit import build_phases
from phasefit.runs.fitting.index_rows import index_rows
from phasefit.runs.fitting.starting import starting_model
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.specification import RunSpec
from phasefit.studies.cell import Cell
from phasefit.studies.scaling import Selection, scale_study
from phasefit.studies.study_reading import find_study
from phasefit.training.schedule import Schedule

MATCHED = ("finetune (step-matched)", "finetune (step-matched, unfrozen)")
TOLERANCE = 0.02
papers_data = pytest.mark.skipif("PHASEFIT_DATA" not in os.environ, reason="needs the dataset: PHASEFIT_DATA")


def planned_steps(spec: RunSpec, model_folder: Path) -> int:
    """The steps of all phases of a run, without training; the number does not depend on the model."""
    spec = spec.replace(model=str(model_folder))
    requested = requested_recipe(spec)
    prepared = prepare(spec.data, spec.split, seed=spec.seed, needs=needs_of(requested))
    recipe = replace(resolve_recipe(spec, requested, prepared, lambda note: None), max_length=None)
    model = starting_model(spec, prepared)
    data = index_rows(model, prepared, recipe, spec.seed, lambda event: None)
    phases = build_phases(model, data, recipe, spec.seed)
    return sum(Schedule.of(phase.options, len(phase.batches)).total for phase in phases)


def cells_of(dataset: str, scale: str) -> dict[str, Cell]:
    """The first cell of each variant."""
    study = scale_study(find_study("three-phase").file, "three-phase", Selection(scale, datasets=(dataset,))).study
    return {cell.variant: cell for cell in reversed(study.cells())}


@pytest.mark.parametrize(
    ("dataset", "scale"),
    [
        ("SNIPS", "evening"),
        ("SNIPS", "full"),
        pytest.param("SST5", "evening", marks=papers_data),
        pytest.param("SST5", "full", marks=papers_data),
    ],
)
def test_plain_fine_tuning_gets_the_steps_of_all_phases(dataset: str, scale: str, tiny_folder: Path) -> None:
    cells = cells_of(dataset, scale)
    matched = [name for name in MATCHED if name in cells]  # the unfrozen reading is too slow for an evening on SST5
    assert MATCHED[0] in matched
    steps = {name: planned_steps(cells[name].spec, tiny_folder) for name in ("finetune", "three-phase", *matched)}
    assert steps["finetune"] < (1 - TOLERANCE) * steps["three-phase"]
    for name in matched:
        assert steps[name] == pytest.approx(steps["three-phase"], rel=TOLERANCE), name


@pytest.mark.parametrize("dataset", ["SNIPS", "SST5", "IMDB"])
def test_it_never_stops_early_and_is_frozen_in_one_reading_only(dataset: str) -> None:
    cells = cells_of(dataset, "full")
    (frozen,), (trained,), (paper,) = (requested_recipe(cells[name].spec).phases for name in (*MATCHED, "finetune"))
    assert frozen.freeze
    assert not trained.freeze
    changed = {"epochs", "patience"}
    for one in (frozen, trained.model_copy(update={"freeze": True})):
        assert one.patience == 0
        assert one.model_dump(exclude=changed) == paper.model_dump(exclude=changed)
