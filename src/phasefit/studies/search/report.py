"""The report of a search: its trials, the verdict on fresh seeds, the notes."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasefit.files.atomic import write_json, write_text
from phasefit.recipes.settings import Settings, setting_lines, settings_key, value_text
from phasefit.studies.search.optuna_study import RESTARTS, SAME_AS, importances, optuna
from phasefit.studies.search.question import Question
from phasefit.studies.tables import Table

STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "running", "WAITING": "waiting"}

STOPPED, REPEATED = "stopped", "repeated"


@dataclass(frozen=True)
class TrialRecord:
    """A trial as it is written to files."""

    number: int
    state: str
    score: float | None
    seconds: float | None
    settings: Settings
    restarts: int = 0  # after it was killed


@dataclass(frozen=True)
class TrialHistory:
    """All trials of a search, the best of them, and the importances of options."""

    trials: tuple[TrialRecord, ...]
    best: TrialRecord | None
    importances: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> int:
        """Number of finished trials; the same settings run on several machines count once."""
        return len({settings_key(trial.settings) for trial in self.trials if trial.state == "complete"})

    @property
    def pruned(self) -> int:
        """Number of trials stopped early."""
        return self._in("pruned")

    @property
    def failed(self) -> int:
        """Number of failed trials."""
        return self._in("failed")

    @property
    def stopped(self) -> int:
        """How often a trial was killed and restarted."""
        return self._in(STOPPED) + sum(trial.restarts for trial in self.trials)

    @property
    def repeated(self) -> int:
        """Number of trials that repeated earlier settings and were not run."""
        return self._in(REPEATED)

    def _in(self, state: str) -> int:
        return sum(trial.state == state for trial in self.trials)


def _state(trial: Any) -> str:
    """The state of a trial; Optuna counts interrupted and repeated trials as failed."""
    name = STATES.get(trial.state.name, trial.state.name.lower())
    if name == "failed" and SAME_AS in trial.user_attrs:
        return REPEATED
    return STOPPED if name == "failed" and "why" not in trial.user_attrs else name


def read_history(study: Any, question: Question) -> TrialHistory:
    """All trials of a study; of equal scores the earliest is the best."""
    optuna()
    trials = tuple(
        TrialRecord(
            trial.number,
            _state(trial),
            trial.value if trial.state.name == "COMPLETE" else None,
            trial.user_attrs.get("seconds"),
            dict(trial.user_attrs.get("settings", {})),
            int(trial.user_attrs.get(RESTARTS, 0)),
        )
        for trial in study.get_trials(deepcopy=False)
    )
    sign = 1 if question.maximise else -1
    scored = [trial for trial in trials if trial.score is not None]
    best = max(scored, key=lambda trial: (sign * (trial.score or 0.0), -trial.number), default=None)
    return TrialHistory(trials, best, importances(study))


def write_trials(folder: Path, history: TrialHistory) -> None:
    """Write trials.csv with one line per trial, and importances.json."""
    names = list(dict.fromkeys(name for trial in history.trials for name in trial.settings))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["trial", "state", "score", "seconds", *names])
    for trial in history.trials:
        values = {name: value_text(value) for name, value in trial.settings.items()}
        figures = ["" if value is None else value for value in (trial.score, trial.seconds)]
        writer.writerow([trial.number, trial.state, *figures, *(values.get(name, "") for name in names)])
    write_text(folder / "trials.csv", out.getvalue())
    write_json(folder / "importances.json", dict(history.importances))


def trial_curve(history: TrialHistory, question: Question) -> list[dict[str, Any]]:
    """The score of each trial and the best so far, for the page."""
    scored = [trial for trial in history.trials if trial.score is not None]
    pick = max if question.maximise else min
    best = [pick(one.score or 0.0 for one in scored[: index + 1]) for index in range(len(scored))]
    each = [[trial.number, trial.score] for trial in scored]
    so_far = [[trial.number, value] for trial, value in zip(scored, best, strict=True)]
    lines = [{"name": "each trial", "points": each}, {"name": "best so far", "points": so_far}]
    y = f"validation {question.score}"
    return [{"title": "Search", "x_title": "trial", "y_title": y, "lines": lines}] if len(scored) > 1 else []


def verdict(table: Table, *, maximise: bool) -> str:
    """Whether the tuned settings are better: the difference on fresh seeds and its interval."""
    tuned = table.rows[-1] if table.rows else None
    if tuned is None or tuned.difference is None:
        return "The tuned settings could not be compared with the original ones."
    gain = f"difference on fresh seeds {tuned.difference:+.4f}"
    low, high = tuned.difference_low, tuned.difference_high
    if low is None or high is None:
        seeds = "one seed only" if tuned.n < 2 else f"identical for all {tuned.n} seeds"
        return f"It is unknown whether the tuned settings are better: {gain}, {seeds}; use more --fresh-seeds."
    gain += f", 95 % interval {low:+.4f} to {high:+.4f}"
    if low > 0 or high < 0:
        is_better = (low > 0) == maximise
        return f"The tuned settings are {'better' if is_better else 'worse'} than the original ones: {gain}."
    return f"The tuned settings are not significantly better than the original ones: {gain}."


def proof_notes(
    question: Question, history: TrialHistory, settings: Settings, seed: int, fresh: Sequence[int], scored: str
) -> tuple[str, ...]:
    """How to read the scores; `scored` is the split that the fresh seeds were scored on."""
    seeds = ", ".join(map(str, fresh))
    own = f"the best score of the search itself ({_own_best(question, history, seed)}) is optimistic"
    claim = f"Trust the scores on fresh seeds ({seeds}): no trial has seen their test rows; {own}."
    claim += " Intervals are over seeds on the same test rows and do not reflect the number of test rows."
    if scored != "test":
        claim = (
            f"There are no test rows: fresh seeds ({seeds}) are scored on rows that the search has used, so their "
            f"scores may be optimistic too; {own}."
        )
    notes = [
        claim,
        trial_counts(question, history),
        f"Tuned settings: {', '.join(setting_lines(settings)) or 'those of the recipe'}.",
    ]
    if history.importances:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(history.importances.items())[:8])
        notes.append(f"Importance of options (fANOVA, share of the variance of the scores): {shares}.")
    return tuple(notes)


def trial_counts(question: Question, history: TrialHistory) -> str:
    """Number of trials by state, and whether the space is exhausted."""
    sentence = f"Trials: {history.complete} complete, {history.pruned} stopped early, {history.failed} failed"
    sentence += f", {history.stopped} interrupted and restarted" if history.stopped else ""
    sentence += f", {history.repeated} repeated draws not run again" if history.repeated else ""
    size = question.space.size
    if size is not None and history.complete + history.pruned >= size:
        sentence += f"; all {size} points of the space have been tried, so more --trials would add nothing"
    return f"{sentence}."


def recipe_header(question: Question, history: TrialHistory, seed: int, command: str) -> Sequence[str]:
    """The comment at the top of the recipe file."""
    return [
        f"{question.recipe.name} with the best settings of a search on {question.dataset}",
        f"  {command}",
        f"{_own_best(question, history, seed)};",
        "this score is optimistic, see the study's report for scores on fresh seeds",
    ]


def _own_best(question: Question, history: TrialHistory, seed: int) -> str:
    score = None if history.best is None else history.best.score
    best = "none" if score is None else f"{score:.4f}"
    return f"validation {question.score} {best} with seed {seed}, the best of {history.complete} trials"
