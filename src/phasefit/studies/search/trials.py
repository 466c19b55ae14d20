"""The trials of a search: drawn by Optuna, run as cells, monitored epoch by epoch, reported."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.metrics.registry import metric_at
from phasefit.recipes.settings import Settings, merge_settings, settings_key
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.pool import ONE, CellEnded, CellError, run_stream
from phasefit.studies.processes import CellEngine
from phasefit.studies.result import PROGRESS, Evaluation, figure, read_evaluations
from phasefit.studies.search.optuna_study import (
    SAME_AS,
    Sampler,
    ask,
    enqueue,
    optuna,
    points,
    requeue_stopped,
    without_warnings,
)
from phasefit.studies.search.question import Question

MOST_FAILED = 3  # failed trials in a row end a search
MOST_REPEATED = 100  # repeated draws in a row: the space is exhausted
MOST_LISTED = 20_000  # largest space that is enumerated to find untried points


@dataclass(frozen=True)
class TrialDone:
    """A trial that has finished, was stopped early, or failed."""

    number: int
    settings: Settings
    score: float | None
    state: str  # complete, pruned or failed
    done: int
    total: int
    best: float | None
    seconds: float = 0.0
    why: str = ""


@dataclass(frozen=True)
class Limits:
    """How long and with what to search."""

    trials: int = 20
    minutes: float | None = None
    sampler: Sampler = "tpe"
    seed: int = 0
    engine: CellEngine = ONE


class Trials:
    """Draws trials, runs them as cells and reports their outcomes."""

    def __init__(self, question: Question, study: Any, limits: Limits, listen: Callable[[TrialDone], None]) -> None:
        self.question, self.study, self.limits, self.listen = question, study, limits, listen
        self.state = optuna().trial.TrialState
        self.running: dict[str, tuple[Any, Settings, int]] = {}  # by cell key: trial, settings, epochs reported
        self.started = time.monotonic()
        self.failed = 0
        self.failures: dict[str, int] = {}  # settings that failed in this process, with the trial's number
        self.exhausted = False  # whether every point has been tried
        self.cache: Path | None = None

    def run(self, cache: Path) -> None:
        """Run all trials; interrupted ones come first."""
        self.cache = cache
        requeue_stopped(self.study, self.question.space)
        own = self.question.space.own_point(self.question.recipe)
        if own is not None and not self.study.get_trials(deepcopy=False) and self.limits.sampler != "grid":
            enqueue(self.study, own)  # the original recipe: the score to beat
        run_stream(self.next_cell, cache, self.ended, engine=self.limits.engine, watch=self.watch)

    def next_cell(self) -> Cell | None:
        """The next trial as a cell; None if there are enough or the space is exhausted."""
        repeated = 0
        while not self.exhausted and self._wants_more():
            trial = ask(self.study, self.question.space, self.limits.sampler, self.limits.seed)
            settings = self.question.space.settings(trial.params, self.question.recipe)
            cell = trial_cell(self.question, settings, trial.number)
            trial.set_user_attr("settings", settings)
            same = self._tried(trial.number).get(settings_key(settings))
            if same is None and cell.key in self.running:
                same = self.running[cell.key][0].number
            if same is None:
                self.running[cell.key] = (trial, settings, 0)
                return cell
            repeated += 1
            trial.set_user_attr(SAME_AS, same)
            self.study.tell(trial, state=self.state.FAIL)
            self.exhausted = repeated >= MOST_REPEATED or not self._queue_untried()
        return None

    def _tried(self, without: int | None = None) -> dict[str, int]:
        """Settings that need no second trial, including those that failed here, with the number of the first trial."""
        states = (self.state.COMPLETE, self.state.PRUNED, self.state.RUNNING)
        trials = self.study.get_trials(deepcopy=False, states=states)
        here = {settings_key(one.user_attrs.get("settings", {})): one.number for one in trials if one.number != without}
        return {**self.failures, **here}

    def _queue_untried(self) -> bool:
        """Queue an untried point if the space can be enumerated; return whether there may be one."""
        space = self.question.space
        if space.size is None or space.size > MOST_LISTED:
            return True
        if self.study.get_trials(deepcopy=False, states=(self.state.WAITING,)):
            return True
        tried = self._tried()
        for point in points(space, self.limits.seed):
            if settings_key(space.settings(point, self.question.recipe)) not in tried:
                enqueue(self.study, point)
                return True
        return False

    def ended(self, event: CellEnded) -> None:
        """Report the outcome to Optuna and to the listener."""
        pruned = self._is_pruned(event)
        trial, settings, _ = self.running.pop(event.cell.key)
        score = None
        if event.result is not None and not pruned:
            score = figure(event.result.metrics, f"validation.{self.question.score}")
            trial.set_user_attr("seconds", event.result.seconds)
        if score is not None and math.isfinite(score):
            self.study.tell(trial, score)
            state = "complete"
        elif pruned:
            self.study.tell(trial, state=self.state.PRUNED)
            state = "pruned"
        else:
            trial.set_user_attr("why", event.why or f"no validation.{self.question.score} in its metrics")
            self.study.tell(trial, state=self.state.FAIL)
            self.failures[settings_key(settings)] = trial.number
            state = "failed"
        self._count_failures(state, event)
        seconds = 0.0 if event.result is None else event.result.seconds
        done = len(self._finished())
        report = TrialDone(trial.number, settings, score, state, done, self._total(), self.best, seconds, event.why)
        self.listen(report)

    def _is_pruned(self, event: CellEnded) -> bool:
        """Whether a trial was stopped early, or would have been had it not finished between two checks.

        Pruning must not depend on how fast a trial is.
        """
        if event.result is None and not event.why:
            return True
        return self.cache is not None and self.watch(event.cell, cell_folder(self.cache, event.cell))

    def watch(self, cell: Cell, folder: Path) -> bool:
        """Report new epochs to Optuna; return whether the trial should be stopped."""
        trial, settings, seen = self.running[cell.key]
        evaluations = read_evaluations(folder / PROGRESS, self.question.recipe.phase_names[-1])
        for epoch, value in new_epochs(evaluations, seen, self.question.score, maximise=self.question.maximise):
            with without_warnings():  # a restarted trial may have reported this epoch before it was killed
                trial.report(value, epoch)
            self.running[cell.key] = (trial, settings, epoch)
            if trial.should_prune():  # at the first such epoch, even if several were read at once
                return True
        return False

    @property
    def best(self) -> float | None:
        """The best score so far."""
        done = self.study.get_trials(deepcopy=False, states=(self.state.COMPLETE,))
        return (max if self.question.maximise else min)((trial.value for trial in done), default=None)

    def _wants_more(self) -> bool:
        spent = (time.monotonic() - self.started) / 60
        if self.limits.minutes is not None and spent >= self.limits.minutes:
            return False
        return len(self._finished()) + len(self.running) < self._total()

    def _total(self) -> int:
        return min(self.limits.trials, self.question.space.size or self.limits.trials)

    def _finished(self) -> set[str]:
        """Settings of finished and of pruned trials."""
        trials = self.study.get_trials(deepcopy=False, states=(self.state.COMPLETE, self.state.PRUNED))
        return {settings_key(trial.user_attrs.get("settings", {})) for trial in trials}

    def _count_failures(self, state: str, event: CellEnded) -> None:
        self.failed = self.failed + 1 if state == "failed" else 0
        if self.failed >= MOST_FAILED:
            raise CellError(f"{self.failed} trials in a row failed, the last with: {event.why}")


def trial_cell(question: Question, settings: Settings, number: int) -> Cell:
    """A trial as a run that does not score the test rows."""
    merged = merge_settings(question.spec.recipe.settings, settings)
    spec = question.spec.replace(settings=merged, score_test=False)
    return Cell(question.dataset, f"trial {number}", spec)


def new_epochs(evaluations: list[Evaluation], seen: int, score: str, *, maximise: bool) -> list[tuple[int, float]]:
    """Complete epochs after `seen`, each with the latest score at its end.

    This makes trials comparable that are evaluated at different steps. If evaluations lack the score, the metric that
    they watch is used instead.
    """
    epochs: list[tuple[int, float]] = []
    for evaluation in evaluations:
        value = evaluation.scores.get(score)
        if value is None:
            value = evaluation.scores.get(evaluation.watch)
            higher = metric_at(evaluation.watch).higher_is_better is not False
            value = value if value is None or higher == maximise else -value
        if value is None or not math.isfinite(value):
            continue
        epochs += [(epoch, value) for epoch in range(seen + 1, int(evaluation.epoch + 1e-9) + 1)]
        seen = max(seen, int(evaluation.epoch + 1e-9))
    return epochs
