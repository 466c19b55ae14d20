"""Choosing a recipe within a time limit: rounds of cells on the training rows, with time kept for the final run."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from statistics import mean
from typing import Any

from phasefit.data.table import content_hash
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import RecipeError
from phasefit.kinds import kind_named
from phasefit.recipes.recipe import FROZEN, TFIDF
from phasefit.runs.specification import RunSpec
from phasefit.studies.auto.candidates import FIRST, REFERENCE, Candidate, candidates_for, facts_of, left_out
from phasefit.studies.auto.halving import (
    Choice,
    Round,
    affordable,
    choose,
    choose_once,
    predicted,
    ranked,
    rounds_for,
    share,
    survivors,
)
from phasefit.studies.auto.report import AutoResult, Entry
from phasefit.studies.auto.trial_data import TrialData, prepare_tables, write_trial_data
from phasefit.studies.cell import Cell
from phasefit.studies.folder import StudyFolder
from phasefit.studies.pool import CellEnded, CellError, run_stream
from phasefit.studies.processes import LocalProcesses
from phasefit.studies.result import figure
from phasefit.studies.rows import rows_without_test
from phasefit.studies.threads import environment_threads

MOST_JOBS = 4
FIRST_SHARE = 0.5  # of the time, until the duration of a final run can be estimated
TIME_UP = "out of time"
STARTING = 15.0  # seconds to load torch and a model for the final run


@dataclass
class Measurements:
    """A candidate's scores on all rows by repetition, and the duration and numbers of rows of its latest run."""

    scores: dict[int, float] = field(default_factory=dict)
    seconds: float | None = None
    rows: int = 0
    held: int = 0  # rows of its latest score


@dataclass(frozen=True)
class Progress:
    """A line to show: a cell that has finished."""

    text: str


def check_effort(spec: RunSpec) -> None:
    """Refuse an effort, which trials have no use for."""
    if spec.recipe.effort != USUAL_EFFORT:
        raise RecipeError("--effort is not for --recipe auto, which spends --minutes; remove one of them")


def choose_recipe(
    spec: RunSpec,
    minutes: float,
    listen: Callable[[Progress], None],
    *,
    started: float | None = None,
    out: Path | None = None,
) -> AutoResult:
    """Try candidates on the training and validation rows, cheap ones first, within the time limit.

    The trials are written to `out`, or to the folder of studies.
    """
    check_effort(spec)
    start = time.monotonic() if started is None else started
    prepared = prepare_tables(spec)
    facts = facts_of(prepared)
    candidates = candidates_for(facts, spec.recipe.settings)
    jobs = _jobs(spec)
    result = AutoResult(facts, kind_named(facts.kind).judged, minutes, spec.seed, jobs, candidates)
    result.left_out = left_out(facts, spec.recipe.settings)
    # A hash of the rows, not of the source: the choice depends on which of its rows are used.
    rows = content_hash([rows_without_test(prepared), prepared.unlabelled])
    folder = StudyFolder.open(f"auto-{prepared.name}", {"auto": rows, "seed": spec.seed}, out)
    result.folder = str(folder.path)
    allowed = spec.machine.threads or environment_threads()
    threads = None if allowed is None else max(allowed // jobs, 1)
    data = write_trial_data(spec, prepared, folder.path, threads)
    chooser = Chooser(data, result, folder.cache, listen, start + minutes * 60, len(prepared.train))
    chooser.run()
    result.seconds = time.monotonic() - start
    return result


def final_spec(spec: RunSpec, result: AutoResult) -> RunSpec:
    """The requested run with the chosen recipe, or with the reference (the first candidate) if none was chosen."""
    chosen = result.chosen or result.candidates[0]
    own: dict[str, Any] = {"model": None, "model_name": None} if chosen.recipe == TFIDF else {}  # it has no encoder
    if chosen.recipe in (TFIDF, FROZEN):  # they train no encoder
        own |= {"precision": "auto", "compile": False}
    return spec.replace(recipe=chosen.recipe, settings=chosen.settings, **own)


class Chooser:
    """Runs the rounds until the time is up."""

    def __init__(
        self,
        data: TrialData,
        result: AutoResult,
        cache: Path,
        listen: Callable[[Progress], None],
        deadline: float,
        final_rows: int,
    ) -> None:
        self.data, self.result, self.cache, self.listen = data, result, cache, listen
        self.deadline, self.final_rows = deadline, final_rows
        self.start = time.monotonic()
        self.known = {one.name: Measurements() for one in result.candidates}
        self.failures: dict[str, str] = {}
        self.by_name = {one.name: one for one in result.candidates}
        self.survivors: list[str] = []  # of the last finished round: the candidates that may be chosen

    def run(self) -> None:
        """Run rounds until one candidate remains or time is up, then choose."""
        rounds = rounds_for(self.result.facts.rows, self.result.facts.classes)
        names = [one.name for one in self.result.candidates]
        for number, round in enumerate(rounds, start=1):
            last, left = number == len(rounds), len(rounds) - number + 1
            if number > 1:
                names = self._affordable(names, round, number, left)
            if len(names) < 2:
                break
            scores = self._round(names, round, left)
            if REFERENCE not in scores:
                self.result.whole = False
                self._enter(number, round, names, scores, [])
                break
            kept = names if last else survivors(scores, REFERENCE, last=number == len(rounds) - 1)
            kept = [name for name in kept if name in scores]
            self._enter(number, round, names, scores, kept)
            names = self.survivors = kept
        self._conclude()

    def _round(self, names: Sequence[str], round: Round, left: int) -> dict[str, float]:
        """Mean scores of the candidates that finished all repetitions in time.

        Each of the `left` rounds gets an equal share of the time. No cell starts after that share, except the first
        ones of all; a running cell may finish, unless that would leave too little time for the final run.
        """
        start = time.monotonic()
        by_name: dict[str, dict[int, float]] = {name: {} for name in names}
        ordered = [*(name for name in FIRST if name in names), *(name for name in names if name not in FIRST)]
        waiting = [(self.by_name[name], number) for number in range(round.repeats) for name in ordered]
        cells: dict[str, tuple[Candidate, int]] = {}
        failed: list[str] = []

        def has_time(name: str) -> bool:
            now, until = time.monotonic(), self._until()
            unmeasured = name in FIRST and self.known[name].seconds is None
            return now < (until if unmeasured else start + share(until - start, left))

        def next_cell() -> Cell | None:
            while waiting and has_time(waiting[0][0].name):
                candidate, number = waiting.pop(0)
                if candidate.name in failed:
                    continue
                cell = self.data.cell(candidate, round, number)
                cells[cell.key] = (candidate, number)
                return cell
            return None

        def ended(event: CellEnded) -> None:
            candidate, number = cells[event.cell.key]
            score = None if event.result is None else figure(event.result.metrics, f"test.{self.result.score}")
            if score is None:
                if event.why and candidate.name == REFERENCE:
                    raise CellError(f"{candidate.name}: {event.why}")
                failed.append(candidate.name)
                self.failures[candidate.name] = f"failed: {event.why}" if event.why else TIME_UP
                self.result.whole = self.result.whole and bool(event.why)
                return
            by_name[candidate.name][number] = score
            self._measure(candidate.name, round, number, score, event)

        watch = lambda cell, folder: time.monotonic() > self._until()  # noqa: E731
        run_stream(next_cell, self.cache, ended, engine=LocalProcesses(self.result.jobs), watch=watch)
        self.result.whole = self.result.whole and not waiting
        whole = {name: scores for name, scores in by_name.items() if len(scores) == round.repeats}
        return {name: mean(scores.values()) for name, scores in whole.items()}

    def _measure(self, name: str, round: Round, number: int, score: float, event: CellEnded) -> None:
        known = self.known[name]
        if round.whole:
            known.scores[number] = score
        if event.result is not None:
            rows = event.result.rows.get("train")
            known.rows = rows if isinstance(rows, int) else round.rows
            held = event.result.rows.get("test")
            known.held = held if isinstance(held, int) else 0
            known.seconds = event.result.seconds
            on = round.sentence(self.data.folds)
            self.listen(Progress(f"{name} on {on}: {score:.4f} in {event.result.seconds:.0f} s"))

    def _until(self) -> float:
        """Time at which choosing must end so that at least the reference can still be trained."""
        known = self.known[REFERENCE]
        if known.seconds is None:
            return self.start + (self.deadline - self.start) * FIRST_SHARE
        return self.deadline - self._final(REFERENCE)

    def _final(self, name: str) -> float:
        """Estimated seconds of the final run on all rows."""
        known = self.known[name]
        return STARTING + predicted(known.seconds or 0.0, known.rows, self.final_rows)

    def _affordable(self, names: Sequence[str], round: Round, number: int, left: int) -> list[str]:
        means = {name: mean(self.known[name].scores.values()) for name in names if self.known[name].scores}
        before = [entry for entry in self.result.entries if entry.round == number - 1 and entry.score is not None]
        latest = means if len(means) == len(names) else {entry.candidate: entry.score or 0.0 for entry in before}
        order = [REFERENCE, *(name for name in ranked(latest) if name in names and name != REFERENCE)]
        costs = {name: self._cost(name, round) for name in order}
        finals = {name: self._final(name) for name in order}
        seconds, final = self.deadline - time.monotonic(), finals[REFERENCE]
        kept = affordable(order, costs, finals, final + share(seconds - final, left), self.result.jobs)
        if len(kept) < 2:  # one comparison may use more than its share
            kept = affordable(order[:2], costs, finals, seconds, self.result.jobs)
        for name in order:
            if name not in kept:
                self.result.whole = False
                on, why = round.sentence(self.data.folds), "not enough time"
                self.result.entries.append(Entry(number, name, on, None, 0.0, kept=False, why=why))
        return [name for name in names if name in kept]

    def _cost(self, name: str, round: Round) -> float:
        """Estimated seconds of the repetitions that have not been run."""
        known = self.known[name]
        new = round.repeats - (len(known.scores) if round.whole else 0)
        return predicted(known.seconds or 0.0, known.rows, round.rows) * max(new, 0)

    def _enter(
        self, number: int, round: Round, names: Sequence[str], scores: dict[str, float], kept: Sequence[str]
    ) -> None:
        place = {name: rank for rank, name in enumerate(ranked(scores), start=1)}
        for name in names:
            score = scores.get(name)
            why = f"{place[name]} of {len(scores)}" if name in place else self.failures.get(name, TIME_UP)
            if name == REFERENCE:
                why += ", the reference"
            on, seconds = round.sentence(self.data.folds), self.known[name].seconds or 0.0
            self.result.entries.append(Entry(number, name, on, score, seconds, name in kept, why))

    def _conclude(self) -> None:
        allowed = [REFERENCE, *(name for name in self.survivors if name != REFERENCE)]
        scores = {name: self.known[name].scores for name in allowed if self.known[name].scores}
        base = {*self.known[REFERENCE].scores}
        if any(len(base & {*own}) > 1 for name, own in scores.items() if name != REFERENCE):
            self.result.choice = choose(scores, REFERENCE, self.data.overlap)
        elif once := self._once():
            best = ranked(once)[0]
            value, held = min(max(once[best], 0.0), 1.0), self.known[best].held
            noise = sqrt(value * (1 - value) / held) if held else 0.0
            self.result.choice = choose_once(once, REFERENCE, noise)
        else:
            self.result.choice = Choice(REFERENCE, "there was no time to try any candidate")
            self.result.whole = False
        self.result.chosen = self.by_name[self.result.choice.name]

    def _once(self) -> dict[str, float]:
        """The scores of the last round that has one of the reference, or of the last with any.

        Without candidates whose final run would take longer than the time left, unless that leaves none.
        """
        rounds: dict[int, dict[str, float]] = {}
        for entry in self.result.entries:
            if entry.score is not None:
                rounds.setdefault(entry.round, {})[entry.candidate] = entry.score
        with_reference = [scores for scores in rounds.values() if REFERENCE in scores]
        scores = (with_reference or list(rounds.values()) or [{}])[-1]
        left = self.deadline - time.monotonic()
        fitting = {name: score for name, score in scores.items() if name in FIRST or self._final(name) <= left}
        order = [one.name for one in self.result.candidates if one.name in (fitting or scores)]
        return {name: scores[name] for name in order}


def _jobs(spec: RunSpec) -> int:
    """Number of parallel jobs: several on a CPU, because a small model does not use many cores."""
    if spec.machine.device not in ("auto", "cpu") or shutil.which("nvidia-smi"):
        return 1
    return max(min(spec.machine.threads or environment_threads() or os.cpu_count() or 1, MOST_JOBS), 1)
