"""Limits the cost of evaluations: their number, and the rows of each.

The cost is derived from counts, never from measured time, so that runs are reproducible and can be resumed.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from math import ceil

from phasefit.phases.contract import Phase
from phasefit.training.schedule import Schedule

STEP_COST = 3  # of a training step, in forward passes of its rows: the backward pass costs about two
ENOUGH_ROWS = 256  # of each part of an evaluation; rather than with fewer, the phase is evaluated less often
FEWEST_ROWS = 100  # of each part, however short the phase is
FEWEST = 3  # evaluations of a phase, unless an epoch or `evaluate_every` gives fewer


def limit_evaluations(phase: Phase, schedule: Schedule) -> Schedule:
    """The schedule with few enough evaluations; sets the rows that the phase evaluates on (`evaluation_cap`)."""
    phase.evaluation_cap = None
    share = phase.options.evaluation_share
    if share == 1 or phase.encodes_once:
        return schedule
    budget = STEP_COST * phase.step_rows() * schedule.total * share / (1 - share)
    if _count(phase, schedule) * phase.evaluation_rows() <= budget:
        return schedule
    enough = phase.evaluation_rows(ENOUGH_ROWS)
    if phase.options.evaluate_every == "auto" and _count(phase, schedule) * enough > budget:
        wanted = max(int(budget // enough), min(_count(phase, schedule), FEWEST))
        schedule = replace(schedule, every=ceil(schedule.total / max(wanted - _before(phase), 1)))
    most, count = max(rows for rows, _ in phase.evaluation_parts()), _count(phase, schedule)
    cap = bisect_right(range(most + 1), budget, key=lambda rows: count * phase.evaluation_rows(rows)) - 1
    phase.evaluation_cap = cap if (cap := max(cap, FEWEST_ROWS)) < most else None
    return schedule


def evaluation_facts(phase: Phase, schedule: Schedule) -> dict[str, int]:
    """The rows of an evaluation, of how many, and the steps between two; empty without rows to evaluate on.

    Validation rows are counted once, although a phase may use them for a loss and for a probe.
    """
    parts = [rows for rows, _ in phase.evaluation_parts()]
    cap = phase.evaluation_cap
    if not sum(parts):
        return {}
    if not phase.data.tasks:
        parts = [len(phase.data.validation) or max(parts)]
    rows = sum(parts) if cap is None else sum(min(each, cap) for each in parts)
    return {"rows": rows, "of": sum(parts), "every": schedule.every}


def _count(phase: Phase, schedule: Schedule) -> int:
    return _before(phase) + ceil(schedule.total / schedule.every)


def _before(phase: Phase) -> int:
    """The evaluation before the first step."""
    return 0 if phase.starts_untrained else 1
