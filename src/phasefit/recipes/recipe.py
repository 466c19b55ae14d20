"""A recipe in which every option has a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phasefit.control_characters import has_controls, one_line
from phasefit.data.task_file import TaskFile
from phasefit.errors import RecipeError
from phasefit.files.integrity import sha256
from phasefit.files.toml import to_toml
from phasefit.parameter_names import python_errors
from phasefit.phases.options import PhaseOptions

TFIDF, FROZEN = "tfidf", "frozen"  # baselines that a recipe can name, because their result is a model


@dataclass(frozen=True)
class Recipe:
    """Phases in order, with all their options, and the options of the whole run. Create one with `Recipe.read`.

    Parameters
    ----------
    name
        Name of the recipe in reports and records.
    phases
        The options of each phase, in order.
    max_length
        Maximum number of tokens per text: "model" (the limit of the model), "auto" (1.2 times the longest of a tenth
        of the texts), "train" (1.2 times the longest training text) or a number.
    prompt
        Template for every text, such as "{text} It is about {mask}."; None: no template.
    long
        What to do with longer texts: "truncate", "head-tail" or "windows"; None: the default of the model.
    baseline
        A linear model that is fitted instead of training phases: "tfidf" or "frozen"; None: the phases are trained.
    """

    name: str
    phases: tuple[PhaseOptions, ...]
    max_length: int | str = "model"
    prompt: str | None = None
    long: str | None = None
    baseline: str | None = None

    def __post_init__(self) -> None:
        if has_controls(self.name):  # it becomes part of recipe files
            raise RecipeError(
                f"the name of a recipe must not contain control characters or line breaks: '{one_line(self.name)}'; "
                "rename it"
            )

    @staticmethod
    @python_errors
    def read(name: str | Path, settings: Mapping[str, Any] | None = None) -> Recipe:
        """Read a packaged recipe or a recipe file and apply settings such as `{"contrast.epochs": 4}`."""
        from phasefit.recipes.reading import read_recipe
        from phasefit.recipes.settings import as_settings

        return read_recipe(str(name), as_settings(settings or {}))

    @property
    def phase_names(self) -> list[str]:
        """Names of the phases: the kind, with a number if a kind is repeated."""
        return phase_names([phase.kind for phase in self.phases])

    @property
    def trains_head(self) -> bool:
        """Whether the result makes predictions."""
        return self.baseline is not None or any(phase.trains_head for phase in self.phases)

    def check(self) -> None:
        """Raise for errors that reading does not detect, such as options of an objective; may import torch."""
        for name, options in zip(self.phase_names, self.phases, strict=True):
            options.check(f"{self.name}, {name}")

    def check_row_weights(self) -> None:
        """Raise if a phase cannot use the weights of rows; may import torch."""
        for name, options in zip(self.phase_names, self.phases, strict=True):
            options.check_row_weights(f"{self.name}, {name}")

    def check_files(self) -> None:
        """Raise, before the data are read, if a file that an option names cannot be used; imports no torch."""
        for name, options in zip(self.phase_names, self.phases, strict=True):
            options.check_files(f"{self.name}, {name}")

    def files(self) -> list[Path]:
        """The files that options name; their content is part of the recipe."""
        return [path for options in self.phases for path in options.files()]

    def file_hashes(self) -> dict[str, str]:
        """The sha256 of each of these files."""
        return {str(path): sha256(path) for path in self.files()}

    def with_tasks(self, file: TaskFile) -> Recipe:
        """The recipe with the heads of a task file, so that the recipe of the run is complete."""
        return replace(self, phases=tuple(options.with_tasks(file) for options in self.phases))

    def for_rows(self, rows: int) -> Recipe:
        """The recipe for a table with this many training rows: batch sizes may depend on it."""
        return replace(self, phases=tuple(options.for_rows(rows) for options in self.phases))

    def watched_tasks(self) -> dict[str, str]:
        """The watched metric of each task, `auto` if not set; a later phase overrides an earlier one."""
        return {task: watch for options in self.phases for task, watch in options.watched_tasks().items()}

    def to_toml(self) -> str:
        """The recipe as TOML with every option; reading it gives the same recipe."""
        title = f"# {self.name}, resolved: every option with its value\n"
        phases = [{"kind": phase.kind, **_without_none(phase.model_dump())} for phase in self.phases]
        whole = _without_none({"max_length": self.max_length, "prompt": self.prompt, "long": self.long})
        if self.baseline is not None:
            return title + to_toml({**(whole if self.baseline == FROZEN else {}), "baseline": self.baseline})
        return title + to_toml({**whole, "phase": phases})


def phase_names(kinds: Sequence[str]) -> list[str]:
    """Names of phases with these kinds, e.g. contrast, finetune, contrast-2."""
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
