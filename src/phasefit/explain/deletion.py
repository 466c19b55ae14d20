"""The deletion test: words that matter change the output more than random words do when they are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phasefit.explain.reading import Reader, ReadRow
from phasefit.explain.results import DeletionTest, Explanation
from phasefit.explain.rows import AT_ONCE, outputs_of, variant
from phasefit.explain.targets import Task
from phasefit.models.predictor import Predictor

DRAWS = 10  # of random words for each text
SHARE = 0.2  # of the words of a text are deleted
MOST = 10  # words to delete


def deletion_test(
    model: Predictor,
    explanations: Sequence[Explanation],
    *,
    words: int | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    batch_size: int = 64,
) -> DeletionTest:
    """Delete the most important words of each text, and as many random ones, and compare how far the output moves.

    For a label, important are the words that support it, and the change is the loss of its probability; for a score,
    those with the largest weights, and the change is the absolute one. `words` is the number to delete; default: a
    fifth of the words of a usual text.
    """
    tested = [one for one in explanations if len(one.read) > 1]
    count = words or usual_count(tested)
    changes = output_changes(model, tested, count, draws=draws, seed=seed, batch_size=batch_size)
    important, random = changes[:, 0], changes[:, 1:].mean(axis=1)
    return DeletionTest(
        len(tested),
        count,
        float(important.mean()) if tested else 0.0,
        float(random.mean()) if tested else 0.0,
        _error(changes),
        "score" if any(one.label is None for one in explanations) else "probability",
    )


def usual_count(explanations: Sequence[Explanation]) -> int:
    """How many words to delete: a fifth of the words of a text of median length, at most ten."""
    if not explanations:
        return 1
    return int(np.clip(round(SHARE * float(np.median([len(one.read) for one in explanations]))), 1, MOST))


def output_changes(
    model: Predictor,
    explanations: Sequence[Explanation],
    count: int,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    keep: bool = False,
    batch_size: int = 64,
) -> np.ndarray:
    """The change after deleting the most important words of each text, then that of each draw, (n, 1 + draws).

    With `keep`, these words are kept and all others are deleted.
    """
    tasks = {one.task: Task(model, one.task) for one in explanations}
    readers = {name: Reader(model, name) for name in tasks}
    outputs: dict[str, list[np.ndarray]] = {name: [] for name in tasks}
    variants: dict[str, list[Any]] = {name: [] for name in tasks}
    for one in explanations:
        row = readers[one.task].read(one.sides)
        chosen = _chosen(one, row, min(count, len(one.read) - 1), draws, seed)
        variants[one.task] += [variant(row), *(variant(row, _deleted(row, words, keep)) for words in chosen)]
    for name, own in variants.items():
        for start in range(0, len(own), AT_ONCE):
            outputs[name].append(outputs_of(model, name, own[start : start + AT_ONCE], batch_size))
    by_task = {name: np.concatenate(parts).reshape(-1, draws + 2, parts[0].shape[1]) for name, parts in outputs.items()}
    changes = np.empty((len(explanations), 1 + draws))
    done = dict.fromkeys(tasks, 0)
    for position, one in enumerate(explanations):
        task = tasks[one.task]
        column = 0 if one.label is None else task.code(one.label)
        whole, *others = by_task[one.task][done[one.task], :, column].tolist()
        done[one.task] += 1
        loss = whole - np.array(others)
        changes[position] = loss if task.has_classes else np.abs(loss)
    return changes


def _chosen(one: Explanation, row: ReadRow, count: int, draws: int, seed: int) -> list[np.ndarray]:
    """The most important words, then random ones, as positions."""
    weights = np.array([np.nan if word.weight is None else word.weight for word in one.words])
    read = np.flatnonzero(row.read & ~np.isnan(weights))
    strength = np.abs(weights[read]) if one.label is None else weights[read]
    random = np.random.default_rng([seed, one.row])
    important = read[np.argsort(-strength, kind="stable")[:count]]
    return [important, *(random.choice(read, size=count, replace=False) for _ in range(draws))]


def _deleted(row: ReadRow, words: np.ndarray, keep: bool) -> list[int]:
    """The words to delete: these, or all others."""
    deleted: list[int] = (np.setdiff1d(np.flatnonzero(row.read), words) if keep else words).tolist()
    return deleted


def _error(changes: np.ndarray) -> float:
    """The standard error of the mean change of random words, because only some of them are drawn."""
    drawn = changes[:, 1:]
    if drawn.shape[0] < 1 or drawn.shape[1] < 2:
        return 0.0
    return float(np.sqrt((drawn.var(axis=1, ddof=1) / drawn.shape[1]).sum()) / len(drawn))
