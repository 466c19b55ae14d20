"""The trials of a search: asked for, run as cells, watched epoch by epoch, told."""

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
from phasefit.studies.pool import CellEnded, CellError, run_stream
from phasefit.studies.result import PROGRESS, Evaluation, figure, read_evaluations
from phasefit.studies.search.optuna_study import (
    SAME_AS,
    Sampler,
    ask,
    optuna,
    points,
    requeue_stopped,
    without_warnings,
)
from phasefit.studies.search.question import Question

MOST_FAILED = 3  # trials in a row, before any came to its end
MOST_REPEATED = 100  # draws in a row of what was drawn before: the space has nothing else
MOST_LISTED = 20_000  # points of a space that are gone through for one that was not tried


@dataclass(frozen=True)
class TrialDone:
    """A trial that came to its end, was given up, or failed."""

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
    """How long and how to search."""

    trials: int = 20
    minutes: float | None = None
    sampler: Sampler = "tpe"
    seed: int = 0
    jobs: int = 1


class Trials:
    """Asks for trials, turns them into cells and tells what became of them."""

    def __init__(self, question: Question, study: Any, limits: Limits, listen: Callable[[TrialDone], None]) -> None:
        self.question, self.study, self.limits, self.listen = question, study, limits, listen
        self.state = optuna().trial.TrialState
        self.running: dict[str, tuple[Any, Settings, int]] = {}  # by key: the trial, its settings, its epochs
        self.started = time.monotonic()
        self.failed = 0
        self.lost: dict[str, int] = {}  # settings that failed here, and the trial's number
        self.used_up = False  # nothing is left to try
        self.cache: Path | None = None

    def run(self, cache: Path) -> None:
        """All trials; what was begun and not ended before comes first."""
        self.cache = cache
        requeue_stopped(self.study)
        own = self.question.space.own_point(self.question.recipe)
        if own is not None and not self.study.get_trials(deepcopy=False) and self.limits.sampler != "grid":
            with without_warnings():
                self.study.enqueue_trial(own)  # the recipe as it is: what the others have to beat
        run_stream(self.next_cell, cache, self.ended, jobs=self.limits.jobs, watch=self.watch)

    def next_cell(self) -> Cell | None:
        """The next trial as a cell; None where there were enough, or nothing is left to try."""
        repeated = 0
        while not self.used_up and self._wants_more():
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
            self.used_up = repeated >= MOST_REPEATED or not self._queue_untried()
        return None

    def _tried(self, without: int | None = None) -> dict[str, int]:
        """Settings that need no second trial, with the number of the first; those that failed here among them."""
        states = (self.state.COMPLETE, self.state.PRUNED, self.state.RUNNING)
        trials = self.study.get_trials(deepcopy=False, states=states)
        here = {settings_key(one.user_attrs.get("settings", {})): one.number for one in trials if one.number != without}
        return {**self.lost, **here}

    def _queue_untried(self) -> bool:
        """Queue a point of the space that was not tried, where they can be gone through; whether there may be one."""
        space = self.question.space
        if space.size is None or space.size > MOST_LISTED:
            return True
        if self.study.get_trials(deepcopy=False, states=(self.state.WAITING,)):
            return True
        tried = self._tried()
        for point in points(space, self.limits.seed):
            if settings_key(space.settings(point, self.question.recipe)) not in tried:
                with without_warnings():
                    self.study.enqueue_trial(point)
                return True
        return False

    def ended(self, event: CellEnded) -> None:
        """Tell Optuna, and whoever listens."""
        behind = self._fell_behind(event)
        trial, settings, _ = self.running.pop(event.cell.key)
        score = None
        if event.result is not None and not behind:
            score = figure(event.result.metrics, f"validation.{self.question.score}")
            trial.set_user_attr("seconds", event.result.seconds)
        if score is not None and math.isfinite(score):
            self.study.tell(trial, score)
            state = "complete"
        elif behind:
            self.study.tell(trial, state=self.state.PRUNED)
            state = "pruned"
        else:
            trial.set_user_attr("why", event.why or f"it has no validation.{self.question.score}")
            self.study.tell(trial, state=self.state.FAIL)
            self.lost[settings_key(settings)] = trial.number
            state = "failed"
        self._count_failures(state, event)
        seconds = 0.0 if event.result is None else event.result.seconds
        done = len(self._finished())
        report = TrialDone(trial.number, settings, score, state, done, self._total(), self.best, seconds, event.why)
        self.listen(report)

    def _fell_behind(self, event: CellEnded) -> bool:
        """Whether it was given up, or would have been had it not ended between two looks at it: what is pruned must
        not depend on how fast a trial is."""
        if event.result is None and not event.why:
            return True
        return self.cache is not None and self.watch(event.cell, cell_folder(self.cache, event.cell))

    def watch(self, cell: Cell, folder: Path) -> bool:
        """Report the epochs that are new; whether the trial is to be given up."""
        trial, settings, seen = self.running[cell.key]
        evaluations = read_evaluations(folder / PROGRESS, self.question.recipe.phase_names[-1])
        for epoch, value in new_epochs(evaluations, seen, self.question.score, maximise=self.question.maximise):
            trial.report(value, epoch)
            self.running[cell.key] = (trial, settings, epoch)
            if trial.should_prune():  # at the first epoch that says so, however many were read at once
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
        """The settings that were tried to their end or given up."""
        trials = self.study.get_trials(deepcopy=False, states=(self.state.COMPLETE, self.state.PRUNED))
        return {settings_key(trial.user_attrs.get("settings", {})) for trial in trials}

    def _count_failures(self, state: str, event: CellEnded) -> None:
        self.failed = self.failed + 1 if state == "failed" else 0
        if self.failed >= MOST_FAILED:
            raise CellError(f"{self.failed} trials in a row failed, the last for this: {event.why}")


def trial_cell(question: Question, settings: Settings, number: int) -> Cell:
    """A trial as a run that leaves the test rows alone."""
    merged = merge_settings(question.spec.recipe.settings, settings)
    spec = question.spec.replace(settings=merged, score_test=False)
    return Cell(question.dataset, f"trial {number}", spec)


def new_epochs(evaluations: list[Evaluation], seen: int, score: str, *, maximise: bool) -> list[tuple[int, float]]:
    """Whole epochs after `seen` with the score that was known when they were over, so that trials which are evaluated
    at other steps can be compared. Where evaluations do not have the score, what they watch stands for it."""
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
