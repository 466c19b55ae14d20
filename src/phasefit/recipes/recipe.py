"""A recipe after reading: every option has its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phasefit.data.task_file import TaskFile
from phasefit.files.toml import to_toml
from phasefit.parameter_names import python_errors
from phasefit.phases.options import PhaseOptions


@dataclass(frozen=True)
class Recipe:
    """Phases in order, each with all its options, and what holds for the whole run; `Recipe.read` makes one.

    Parameters
    ----------
    name
        What records call it.
    phases
        The options of each phase, in order.
    max_length
        The longest text in tokens: "model", "auto" or a number.
    prompt
        A template that every text is filled into, None for none.
    long
        What happens to longer texts: "truncate", "head-tail" or "windows"; None is what the model does with them.
    """

    name: str
    phases: tuple[PhaseOptions, ...]
    max_length: int | str = "model"
    prompt: str | None = None
    long: str | None = None

    @staticmethod
    @python_errors
    def read(name: str | Path, settings: Mapping[str, Any] | None = None) -> Recipe:
        """A packaged recipe or a recipe file, with settings such as `{"contrast.epochs": 4}` applied."""
        from phasefit.recipes.reading import read_recipe
        from phasefit.recipes.settings import as_settings

        return read_recipe(str(name), as_settings(settings or {}))

    @property
    def phase_names(self) -> list[str]:
        """A phase is called by its kind, numbered where a kind is repeated."""
        return phase_names([phase.kind for phase in self.phases])

    def check(self) -> None:
        """Refuse what reading alone cannot see, such as an objective's options; may import torch."""
        for name, options in zip(self.phase_names, self.phases, strict=True):
            options.check(f"{self.name}, {name}")

    def check_files(self) -> None:
        """Refuse files that options name and that cannot be used, before the data are read; imports no torch."""
        for name, options in zip(self.phase_names, self.phases, strict=True):
            options.check_files(f"{self.name}, {name}")

    def files(self) -> list[Path]:
        """The files that its options name: what they hold is part of what the recipe says."""
        return [path for options in self.phases for path in options.files()]

    def with_tasks(self, file: TaskFile) -> Recipe:
        """The recipe with the heads of a task file: the run's recipe then says all there is to say."""
        return replace(self, phases=tuple(options.with_tasks(file) for options in self.phases))

    def watched_tasks(self) -> dict[str, str]:
        """What each task is judged by, `auto` where nobody says; a later phase has the last word."""
        return {task: watch for options in self.phases for task, watch in options.watched_tasks().items()}

    def to_toml(self) -> str:
        """The whole recipe with every option spelled out; reading it gives the same recipe."""
        title = f"# {self.name}, as resolved: every option with the value that was used\n"
        phases = [{"kind": phase.kind, **_without_none(phase.model_dump())} for phase in self.phases]
        whole = _without_none({"max_length": self.max_length, "prompt": self.prompt, "long": self.long})
        return title + to_toml({**whole, "phase": phases})


def phase_names(kinds: Sequence[str]) -> list[str]:
    """contrast, finetune, contrast-2."""
    names = []
    for index, kind in enumerate(kinds):
        before = list(kinds[:index]).count(kind)
        names.append(kind if not before else f"{kind}-{before + 1}")
    return names


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(value) if isinstance(value, dict) else value
        for name, value in options.items()
        if value is not None
    }
