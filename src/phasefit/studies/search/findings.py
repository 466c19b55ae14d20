"""What the trials of a search say together: the best, what became of the others, which options mattered."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasefit.files.atomic import write_json, write_text
from phasefit.studies.search.optuna_study import SAME_AS, importances, optuna
from phasefit.studies.search.question import Question

STATES = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "running", "WAITING": "waiting"}

STOPPED, REPEATED = "stopped", "repeated"


@dataclass(frozen=True)
class OneTrial:
    """A trial as files have it."""

    number: int
    state: str
    score: float | None
    seconds: float | None
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """All of them."""

    trials: tuple[OneTrial, ...]
    best: OneTrial | None
    importances: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> int:
        """How many came to their end; machines that share a storage may have run the same, which counts once."""
        return len({trial.settings for trial in self.trials if trial.state == "complete"})

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


def found_in(study: Any, question: Question) -> Found:
    """Read a study; of equal scores the first counts, so that nothing depends on chance."""
    optuna()
    trials = tuple(
        OneTrial(
            trial.number,
            _state(trial),
            trial.value if trial.state.name == "COMPLETE" else None,
            trial.user_attrs.get("seconds"),
            tuple(trial.user_attrs.get("settings", ())),
        )
        for trial in study.get_trials(deepcopy=False)
    )
    sign = 1 if question.maximise else -1
    scored = [trial for trial in trials if trial.score is not None]
    best = max(scored, key=lambda trial: (sign * (trial.score or 0.0), -trial.number), default=None)
    return Found(trials, best, importances(study))


def write_trials(folder: Path, found: Found) -> None:
    """trials.csv, a line a trial, and importances.json."""
    names = list(dict.fromkeys(setting.partition("=")[0] for trial in found.trials for setting in trial.settings))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["trial", "state", "score", "seconds", *names])
    for trial in found.trials:
        values = dict(setting.split("=", 1) for setting in trial.settings)
        figures = ["" if value is None else value for value in (trial.score, trial.seconds)]
        writer.writerow([trial.number, trial.state, *figures, *(values.get(name, "") for name in names)])
    write_text(folder / "trials.csv", out.getvalue())
    write_json(folder / "importances.json", dict(found.importances))


def trial_curve(found: Found, question: Question) -> list[dict[str, Any]]:
    """The best score so far and each trial's own, for the page."""
    scored = [trial for trial in found.trials if trial.score is not None]
    pick = max if question.maximise else min
    best = [pick(one.score or 0.0 for one in scored[: place + 1]) for place in range(len(scored))]
    each = [[trial.number, trial.score] for trial in scored]
    so_far = [[trial.number, value] for trial, value in zip(scored, best, strict=True)]
    lines = [{"name": "each trial", "points": each}, {"name": "best so far", "points": so_far}]
    y = f"validation {question.score}"
    return [{"title": "The search", "x_title": "trial", "y_title": y, "lines": lines}] if len(scored) > 1 else []
