"""Choosing within some minutes: rounds of cells on the training rows, and what is left for the final run."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from phasefit.data.table import content_hash
from phasefit.kinds import kind_named
from phasefit.runs.specification import RunSpec
from phasefit.studies.auto.candidates import YARDSTICK, Candidate, candidates_for, facts_of, left_out
from phasefit.studies.auto.halving import (
    Choice,
    Round,
    affordable,
    choose,
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
from phasefit.studies.result import figure
from phasefit.studies.rows import rows_without_test

MOST_JOBS = 4
FIRST_SHARE = 0.5  # of the time, as long as nobody knows what a final run takes
TIME_UP = "time was up"
STARTING = 15.0  # seconds to load torch and a model for the final run


@dataclass
class Measurements:
    """What is known of a candidate: scores on all rows by repetition, and what runs took."""

    scores: dict[int, float] = field(default_factory=dict)
    seconds: float | None = None
    rows: int = 0


@dataclass(frozen=True)
class Progress:
    """Something to show: a cell that ended, and the best so far."""

    text: str


def choose_recipe(
    spec: RunSpec, minutes: float, listen: Callable[[Progress], None], *, started: float | None = None
) -> AutoResult:
    """Try candidates on the rows that are not the test, cheap ones first, as far as the time goes."""
    begun = time.monotonic() if started is None else started
    prepared = prepare_tables(spec)
    facts = facts_of(prepared)
    candidates = candidates_for(facts, spec.recipe.settings)
    jobs = _jobs(spec)
    result = AutoResult(facts, kind_named(facts.kind).judged, minutes, spec.seed, jobs, candidates)
    result.left_out = left_out(facts, spec.recipe.settings)
    rows = content_hash(
        [rows_without_test(prepared), prepared.unlabelled]
    )  # not the source's: which of its rows are used counts
    folder = StudyFolder.open(f"auto-{prepared.name}", {"auto": rows, "seed": spec.seed}, None)
    result.folder = str(folder.path)
    threads = None if spec.machine.threads is None else max(spec.machine.threads // jobs, 1)
    data = write_trial_data(spec, prepared, folder.path, threads)
    chooser = Chooser(data, result, folder.cache, listen, begun + minutes * 60, len(prepared.train))
    chooser.run()
    result.seconds = time.monotonic() - begun
    return result


def final_spec(spec: RunSpec, result: AutoResult) -> RunSpec:
    """The run that was asked for, with the recipe that was chosen; the yardstick, which comes first, where none was."""
    chosen = result.chosen or result.candidates[0]
    return spec.replace(recipe=chosen.recipe, settings=chosen.settings)


class Chooser:
    """Runs the rounds; time may end them."""

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
        self.begun = time.monotonic()
        self.known = {one.name: Measurements() for one in result.candidates}
        self.failures: dict[str, str] = {}
        self.by_name = {one.name: one for one in result.candidates}
        self.stayed: list[str] = []  # after the last round that came to its end: who may be chosen

    def run(self) -> None:
        """Rounds until one candidate is left or time is up, then the choice."""
        rounds = rounds_for(self.result.facts.rows, self.result.facts.classes)
        names = [one.name for one in self.result.candidates]
        for number, round in enumerate(rounds, start=1):
            last, left = number == len(rounds), len(rounds) - number + 1
            if number > 1:
                names = self._affordable(names, round, number, left)
            if len(names) < 2:
                break
            scores = self._round(names, round, left)
            if YARDSTICK not in scores:
                self.result.whole = False
                self._enter(number, round, names, scores, [])
                break
            stay = names if last else survivors(scores, YARDSTICK, last=number == len(rounds) - 1)
            stay = [name for name in stay if name in scores]
            self._enter(number, round, names, scores, stay)
            names = self.stayed = stay
        self._conclude()

    def _round(self, names: Sequence[str], round: Round, left: int) -> dict[str, float]:
        """The scores of those that came to their end in time: means over their repetitions.

        Of the time, each of the rounds that are `left` has its share, behind which no cell begins; one that runs may
        end, unless it would cost the final run.
        """
        begun = time.monotonic()
        by_name: dict[str, dict[int, float]] = {name: {} for name in names}
        waiting = [(self.by_name[name], number) for number in range(round.repeats) for name in names]
        cells: dict[str, tuple[Candidate, int]] = {}
        failed: list[str] = []

        def next_cell() -> Cell | None:
            while waiting and time.monotonic() < begun + share(self._until() - begun, left):
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
                if event.why and candidate.name == YARDSTICK:
                    raise CellError(f"{candidate.name}: {event.why}")
                failed.append(candidate.name)
                self.failures[candidate.name] = f"it failed: {event.why}" if event.why else TIME_UP
                self.result.whole = self.result.whole and bool(event.why)
                return
            by_name[candidate.name][number] = score
            self._measure(candidate.name, round, number, score, event)

        watch = lambda cell, folder: time.monotonic() > self._until()  # noqa: E731
        run_stream(next_cell, self.cache, ended, jobs=self.result.jobs, watch=watch)
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
            known.seconds = event.result.seconds
            on = round.sentence(self.data.folds)
            self.listen(Progress(f"{name} on {on}: {score:.4f} in {event.result.seconds:.0f} s"))

    def _until(self) -> float:
        """When choosing must end so that the yardstick, at least, can still be trained."""
        known = self.known[YARDSTICK]
        if known.seconds is None:
            return self.begun + (self.deadline - self.begun) * FIRST_SHARE
        return self.deadline - self._final(YARDSTICK)

    def _final(self, name: str) -> float:
        """What the final run would take: it has all cores, and all rows."""
        known = self.known[name]
        return STARTING + predicted(known.seconds or 0.0, known.rows, self.final_rows)

    def _affordable(self, names: Sequence[str], round: Round, number: int, left: int) -> list[str]:
        means = {name: mean(self.known[name].scores.values()) for name in names if self.known[name].scores}
        before = [entry for entry in self.result.entries if entry.round == number - 1 and entry.score is not None]
        latest = means if len(means) == len(names) else {entry.candidate: entry.score or 0.0 for entry in before}
        order = [YARDSTICK, *(name for name in ranked(latest) if name in names and name != YARDSTICK)]
        costs = {name: self._cost(name, round) for name in order}
        finals = {name: self._final(name) for name in order}
        seconds, final = self.deadline - time.monotonic(), finals[YARDSTICK]
        kept = affordable(order, costs, finals, final + share(seconds - final, left), self.result.jobs)
        if len(kept) < 2:  # one comparison is worth more than its share
            kept = affordable(order[:2], costs, finals, seconds, self.result.jobs)
        for name in order:
            if name not in kept:
                self.result.whole = False
                on, why = round.sentence(self.data.folds), "no time for it"
                self.result.entries.append(Entry(number, name, on, None, 0.0, kept=False, why=why))
        return [name for name in names if name in kept]

    def _cost(self, name: str, round: Round) -> float:
        """Of the repetitions that are not there yet."""
        known = self.known[name]
        new = round.repeats - (len(known.scores) if round.whole else 0)
        return predicted(known.seconds or 0.0, known.rows, round.rows) * max(new, 0)

    def _enter(
        self, number: int, round: Round, names: Sequence[str], scores: dict[str, float], stay: Sequence[str]
    ) -> None:
        place = {name: rank for rank, name in enumerate(ranked(scores), start=1)}
        for name in names:
            score = scores.get(name)
            why = f"{place[name]} of {len(scores)}" if name in place else self.failures.get(name, TIME_UP)
            if name == YARDSTICK:
                why += ", the yardstick"
            on, seconds = round.sentence(self.data.folds), self.known[name].seconds or 0.0
            self.result.entries.append(Entry(number, name, on, score, seconds, name in stay, why))

    def _conclude(self) -> None:
        if self.known[YARDSTICK].seconds is None:
            self.result.choice = Choice(YARDSTICK, "the minutes were too few to try anything")
            self.result.whole = False
        else:
            allowed = [YARDSTICK, *(name for name in self.stayed if name != YARDSTICK)]
            scores = {name: self.known[name].scores for name in allowed if self.known[name].scores}
            self.result.choice = choose(scores, YARDSTICK, self.data.overlap)
        self.result.chosen = self.by_name[self.result.choice.name]


def _jobs(spec: RunSpec) -> int:
    """Several at once where the processor does the work: small models do not fill many cores."""
    if spec.machine.device not in ("auto", "cpu") or shutil.which("nvidia-smi"):
        return 1
    return max(min(spec.machine.threads or os.cpu_count() or 1, MOST_JOBS), 1)
