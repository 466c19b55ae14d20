"""The history of a run, and what the record of a phase takes from it."""

from __future__ import annotations

from phasefit.events import PhaseEnded, Scored, StepDone
from phasefit.runs.fitting.fit import _record
from phasefit.runs.fitting.history import History


def history(*events: Scored | StepDone) -> History:
    made = History()
    for event in events:
        made.add(event)
    return made


def scored(phase: str, step: int, **scores: float) -> Scored:
    return Scored(phase, step, 0.0, scores, "probe", True)


def test_the_score_before_a_phase_is_that_of_step_zero() -> None:
    rows = history(
        scored("denoise", 0, probe=0.5, loss=7.0),
        StepDone("denoise", 1, 2, 0.5, 3.0, 1e-5, 0.1),
        scored("denoise", 2, probe=0.6),
        scored("contrast", 5, probe=0.9),
    )
    assert rows.first_score("denoise", "probe") == 0.5
    assert rows.first_score("contrast", "probe") is None
    assert rows.first_score("denoise", "macro_f1") is None


def test_the_record_of_a_phase_has_the_score_before_it() -> None:
    ended = PhaseEnded("denoise", 2, 1.23456, 2, {"probe": 0.6}, False, "probe", 2)
    record = _record(ended, history(scored("denoise", 0, probe=0.5)))
    assert (record["before"], record["best"], record["seconds"]) == (0.5, {"probe": 0.6}, 1.235)
    assert _record(ended, history())["before"] is None
