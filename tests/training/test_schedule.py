from __future__ import annotations

import pytest

from phasefit.phases.finetune.options import Options
from phasefit.training.schedule import LONGEST_WAIT, MOST_EVALUATIONS, Schedule


def schedule(batches: int, **options) -> Schedule:
    return Schedule.of(Options(**options), batches)


def factors(chosen: Schedule) -> list[float]:
    return [chosen.factor(step) for step in range(1, chosen.total + 1)]


def test_epochs_make_steps() -> None:
    assert schedule(10, epochs=3).total == 30
    assert schedule(10, epochs=0.5).total == 5
    assert schedule(10, epochs=0.01).total == 1
    assert schedule(10, epochs=3, accumulate=4).total == 9, "the last step of an epoch may be smaller"
    assert schedule(10, epochs=3, max_steps=7).total == 7
    assert schedule(10, epochs=1, max_steps=70).total == 10


def test_linear() -> None:
    assert factors(schedule(4, warmup=0)) == pytest.approx([1, 0.75, 0.5, 0.25])


def test_warm_up_then_down() -> None:
    rates = factors(schedule(10, warmup=0.2))
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[-1] == pytest.approx(1 / 8), "the last step still learns"


def test_cosine() -> None:
    rates = factors(schedule(8, warmup=0, schedule="cosine"))
    assert rates[0] == 1.0
    assert rates[4] == pytest.approx(0.5)
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 0


def test_constant() -> None:
    assert factors(schedule(5, warmup=0.4, schedule="constant")) == pytest.approx([0.5, 1, 1, 1, 1])


@pytest.mark.parametrize("shape", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.99])
@pytest.mark.parametrize("batches", [1, 2, 17])
def test_every_step_learns_and_none_too_fast(shape, warmup, batches) -> None:
    assert all(0 < factor <= 1 for factor in factors(schedule(batches, epochs=2, schedule=shape, warmup=warmup)))


def evaluations(chosen: Schedule) -> list[int]:
    return [step for step in range(1, chosen.total + 1) if chosen.evaluates(step)]


def test_evaluation_is_after_every_epoch_and_at_the_end() -> None:
    assert evaluations(schedule(10, epochs=3)) == [10, 20, 30]
    assert evaluations(schedule(10, epochs=2.5)) == [10, 20, 25]
    assert evaluations(schedule(10, epochs=3, evaluate_every=4)) == [4, 8, 12, 16, 20, 24, 28, 30]
    assert evaluations(schedule(10, epochs=1, max_steps=3)) == [3]


def test_long_epochs_have_several_evaluations_and_not_every_short_one_has_one() -> None:
    assert evaluations(schedule(1700, epochs=1)) == [LONGEST_WAIT, 2 * LONGEST_WAIT, 3 * LONGEST_WAIT, 1700]
    assert len(evaluations(schedule(2, epochs=200))) <= MOST_EVALUATIONS


def test_every_segment_has_its_own_schedule() -> None:
    whole = schedule(30, warmup=0.2)
    alone = schedule(10, warmup=0.2)
    assert [whole.factor(17, (step, 10)) for step in range(1, 11)] == pytest.approx(factors(alone))
