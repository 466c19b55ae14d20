"""Evaluations take at most a share of a phase; the final choice uses all rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.events import Note, PhaseEnded, Scored
from phasefit.phases import PHASES
from phasefit.phases.contract import Phase
from phasefit.recipes import read_recipe
from phasefit.training.evaluations import FEWEST_ROWS, STEP_COST, limit_evaluations
from phasefit.training.schedule import Schedule
from tiny import fresh_model, make_data, make_phase, make_table, run


@pytest.fixture
def model(tiny_folder):
    return fresh_model(tiny_folder)


def built(model: Any, kind: str = "finetune", rows: int = 1300, validation: int = 1000, **options: Any) -> Phase:
    return make_phase(kind, model, make_data(model.encoder, *make_table(rows), validation=validation), **options)


def planned(phase: Phase) -> tuple[Schedule, Schedule]:
    usual = Schedule.of(phase.options, len(phase.batches))
    return usual, limit_evaluations(phase, usual)


def share(phase: Phase, schedule: Schedule) -> float:
    """Of all work that evaluations take."""
    count = sum(schedule.evaluates(step) for step in range(1, schedule.total + 1)) + (not phase.starts_untrained)
    evaluations = count * phase.evaluation_rows()
    return evaluations / (evaluations + STEP_COST * phase.step_rows() * schedule.total)


@pytest.mark.parametrize("kind", PHASES)
def test_evaluations_of_every_phase_are_at_most_a_fifth(model, kind: str) -> None:
    phase = built(model, kind, batch_size=16, epochs=10)
    before = share(phase, Schedule.of(phase.options, len(phase.batches)))
    _, schedule = planned(phase)
    assert share(phase, schedule) <= min(0.2, before)
    assert phase.validate() == phase.validate(), "the sample is fixed"


def test_fewer_evaluations_rather_than_tiny_samples(model) -> None:
    usual, schedule = planned(phase := built(model, batch_size=32, min_steps=200))
    assert schedule.every > usual.every
    assert 256 <= phase.evaluation_cap < 1000
    usual, schedule = planned(phase := built(model, batch_size=32, max_steps=2))
    assert phase.evaluation_cap == FEWEST_ROWS, "however short the phase is"


def test_small_tables_and_long_phases_are_evaluated_as_before(model) -> None:
    usual, schedule = planned(phase := built(model, rows=60, validation=12))
    assert (schedule, phase.evaluation_cap) == (usual, None)
    usual, schedule = planned(phase := built(model, freeze=True))
    assert (schedule, phase.evaluation_cap) == (usual, None), "cached vectors cost nothing"


def test_all_rows_on_request(model) -> None:
    usual, schedule = planned(phase := built(model, evaluation_share=1))
    assert (schedule, phase.evaluation_cap) == (usual, None)
    usual, schedule = planned(phase := built(model, evaluate_every=2))
    assert schedule == usual, "the number of evaluations is as requested"


def test_the_sample_is_reported_and_the_last_choice_is_on_all_rows(model, monkeypatch) -> None:
    phase = built(model, batch_size=16, max_steps=40, evaluate_every=5, patience=0, lr=1e-3, slack=0)
    seen: list[int] = []
    validate = type(phase).validate
    rising = iter(range(1, 100))

    def spy(self: Phase) -> dict[str, float]:
        seen.append(len(self.sample(self.data.validation)))
        full = self.evaluation_cap is None
        return validate(self) | {self.watch: float(-len(seen) if full else next(rising))}

    monkeypatch.setattr(type(phase), "validate", spy)
    events = run(phase)
    ended = events[-1]
    assert isinstance(ended, PhaseEnded)
    steps = [event.step for event in events if isinstance(event, Scored)]
    assert set(seen[:-2]) == {ended.evaluation["rows"]} != {1000}
    assert seen[-2:] == [1000, 1000], "both candidates"
    assert ended.evaluation == {"rows": seen[0], "of": 1000, "every": 5}
    assert ended.best_step == steps[-1], "the first of the two was better on all rows"
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any(f"a fixed sample of {seen[0]} of 1,000 rows" in note for note in notes)
    assert any(f"chose step {steps[-1]} on all 1,000 validation rows" in note for note in notes)


def test_the_replaced_weights_win_if_they_are_better_on_all_rows(model, monkeypatch) -> None:
    phase = built(model, batch_size=16, max_steps=20, evaluate_every=10, patience=0, lr=1e-3)
    weights: dict[int, torch.Tensor] = {}
    validate = type(phase).validate

    def spy(self: Phase) -> dict[str, float]:
        now = self.head.output.weight.detach().clone()
        if self.evaluation_cap is not None:
            weights[len(weights)] = now
            return validate(self) | {self.watch: float(len(weights))}
        return validate(self) | {self.watch: float(torch.equal(now, weights[0]))}

    monkeypatch.setattr(type(phase), "validate", spy)
    ended = run(phase)[-1]
    assert ended.best_step == 10
    assert torch.equal(phase.head.output.weight, weights[0])
    assert ended.best[phase.watch] == 1.0, "the scores of a phase are those of its evaluations"


def test_published_recipes_evaluate_on_all_rows() -> None:
    for name in ("three-phase-paper", "joint-paper", "finetune-paper", "denoise-finetune-paper"):
        evaluated = [options for options in read_recipe(name).phases if getattr(options, "watch", "") != "last"]
        assert {options.evaluation_share for options in evaluated} == {1}


def test_a_probe_on_a_sample_always_has_two_classes(model) -> None:
    data = make_data(model.encoder, *make_table(300, classes=2, sizes=[299, 1]), validation=0)
    data = replace(data, train=np.arange(300), validation=np.arange(300))
    phase = make_phase("contrast", model, data)
    phase.evaluation_cap = 20
    assert phase.watch in phase.validate()


def test_less_share_is_fewer_rows(model) -> None:
    shares = (0.05, 0.1, 0.2, 0.4, 1.0)
    phases = [built(model, evaluation_share=each, min_steps=300, evaluate_every=30) for each in shares]
    for phase in phases:
        planned(phase)
    rows = [phase.evaluation_rows() for phase in phases]
    assert all(less <= more for less, more in pairwise(rows))
    assert rows[0] < rows[-1]
