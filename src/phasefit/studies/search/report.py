"""The report of a search: its trials read together and written down, the verdict on fresh seeds, the notes."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasefit.files.atomic import write_json, write_text
from phasefit.recipes.settings import Settings, setting_lines, settings_key, value_text
from phasefit.studies.search.optuna_study import SAME_AS, importances, optuna
from phasefit.studies.search.question import Question
from phasefit.studies.tables import Table

STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "running", "WAITING": "waiting"}

STOPPED, REPEATED = "stopped", "repeated"


@dataclass(frozen=True)
class TrialRecord:
    """A trial as files have it."""

    number: int
    state: str
    score: float | None
    seconds: float | None
    settings: Settings


@dataclass(frozen=True)
class TrialHistory:
    """All trials of a search, the best of them, and what mattered."""

    trials: tuple[TrialRecord, ...]
    best: TrialRecord | None
    importances: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> int:
        """How many came to their end; machines that share a storage may have run the same, which counts once."""
        return len({settings_key(trial.settings) for trial in self.trials if trial.state == "complete"})

    @property
    def pruned(self) -> int:
        """How many were given up early."""
        return self._in("pruned")

    @property
    def failed(self) -> int:
        """How many failed."""
        return self._in("failed")

    @property
    def stopped(self) -> int:
        """How many were cut off by a kill and begun anew under another number."""
        return self._in(STOPPED)

    @property
    def repeated(self) -> int:
        """How many were drawn although the same had been drawn before; they were not run."""
        return self._in(REPEATED)

    def _in(self, state: str) -> int:
        return sum(trial.state == state for trial in self.trials)


def _state(trial: Any) -> str:
    """Optuna counts a trial that was cut off as failed, and nothing says why; and one that was drawn a second time."""
    name = STATES.get(trial.state.name, trial.state.name.lower())
    if name == "failed" and SAME_AS in trial.user_attrs:
        return REPEATED
    return STOPPED if name == "failed" and "why" not in trial.user_attrs else name


def read_history(study: Any, question: Question) -> TrialHistory:
    """Read a study; of equal scores the first counts, so that nothing depends on chance."""
    optuna()
    trials = tuple(
        TrialRecord(
            trial.number,
            _state(trial),
            trial.value if trial.state.name == "COMPLETE" else None,
            trial.user_attrs.get("seconds"),
            dict(trial.user_attrs.get("settings", {})),
        )
        for trial in study.get_trials(deepcopy=False)
    )
    sign = 1 if question.maximise else -1
    scored = [trial for trial in trials if trial.score is not None]
    best = max(scored, key=lambda trial: (sign * (trial.score or 0.0), -trial.number), default=None)
    return TrialHistory(trials, best, importances(study))


def write_trials(folder: Path, history: TrialHistory) -> None:
    """trials.csv, a line a trial, and importances.json."""
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
    """The best score so far and each trial's own, for the page."""
    scored = [trial for trial in history.trials if trial.score is not None]
    pick = max if question.maximise else min
    best = [pick(one.score or 0.0 for one in scored[: place + 1]) for place in range(len(scored))]
    each = [[trial.number, trial.score] for trial in scored]
    so_far = [[trial.number, value] for trial, value in zip(scored, best, strict=True)]
    lines = [{"name": "each trial", "points": each}, {"name": "best so far", "points": so_far}]
    y = f"validation {question.score}"
    return [{"title": "The search", "x_title": "trial", "y_title": y, "lines": lines}] if len(scored) > 1 else []


def verdict(table: Table, *, maximise: bool) -> str:
    """Whether the settings found are worth having: the difference on fresh seeds and its interval."""
    tuned = table.rows[-1] if table.rows else None
    if tuned is None or tuned.difference is None:
        return "The settings found could not be compared with the recipe as it is."
    gain = f"on fresh seeds the difference is {tuned.difference:+.4f}"
    low, high = tuned.difference_low, tuned.difference_high
    if low is None or high is None:
        of = "of one seed" if tuned.n < 2 else f"the same difference with all {tuned.n} seeds"
        return f"Whether the settings found are better is not known: {gain}, {of}."
    gain += f", 95 % interval {low:+.4f} to {high:+.4f}"
    if low > 0 or high < 0:
        is_better = (low > 0) == maximise
        return f"The settings found are {'better than' if is_better else 'worse than'} the recipe as it is: {gain}."
    return f"The settings found are not proved better than the recipe as it is: {gain}."


def proof_notes(
    question: Question, history: TrialHistory, settings: Settings, seed: int, fresh: Sequence[int], scored: str
) -> tuple[str, ...]:
    """What is claimed of the settings and what is not; `scored` is the split that the fresh seeds were scored on."""
    seeds = ", ".join(map(str, fresh))
    own = f"the search's own best, {_own_best(question, history, seed)}, is too good"
    claim = f"What is claimed is the table of fresh seeds ({seeds}), on test rows that no trial has seen; {own}."
    claim += " Intervals are over seeds, on the same test rows: how few those are is not in them."
    if scored != "test":
        claim = (
            f"There is no test: fresh seeds ({seeds}) score rows that the search looked at; {own}, and so may they be."
        )
    notes = [
        claim,
        trial_counts(question, history),
        f"Settings found: {', '.join(setting_lines(settings)) or 'those of the recipe'}.",
    ]
    if history.importances:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(history.importances.items())[:8])
        notes.append(f"What mattered (fANOVA, share of the variance of the scores): {shares}.")
    return tuple(notes)


def trial_counts(question: Question, history: TrialHistory) -> str:
    """How many trials there were of which kind; and whether there is anything left to try."""
    sentence = f"Trials: {history.complete} complete, {history.pruned} given up early, {history.failed} failed"
    sentence += f", {history.stopped} cut off and begun anew" if history.stopped else ""
    sentence += f", {history.repeated} drawn a second time and not run again" if history.repeated else ""
    size = question.space.size
    if size is not None and history.complete + history.pruned >= size:
        sentence += f"; these are all {size} points of the space, and more --trials would add none"
    return f"{sentence}."


def recipe_header(question: Question, history: TrialHistory, seed: int, command: str) -> Sequence[str]:
    """The lines at the top of the recipe file."""
    return [
        f"{question.recipe.name} with the settings that a search found best on {question.dataset}",
        f"  {command}",
        f"{_own_best(question, history, seed)}; being the best it is",
        "optimistic: the study's report has the scores on fresh seeds",
    ]


def _own_best(question: Question, history: TrialHistory, seed: int) -> str:
    score = None if history.best is None else history.best.score
    best = "none" if score is None else f"{score:.4f}"
    return f"validation {question.score} {best} with seed {seed}, the best of {history.complete} trials"
