"""A Cell: one run of a study, what it is called there, and the key that its result is kept under.

Two cells with one key give one result, so a result is kept under its key and never computed twice. Imports no torch.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from phasefit.baselines import BASELINES
from phasefit.recipes.settings import setting_lines
from phasefit.runs.specification import DEFAULTS, RunSpec
from phasefit.studies.key import digest, run_identity

COMMAND_OPTIONS = (  # options of one value, by the names of their fields
    *("kind", "tree", "separator", "validation", "test", "unlabelled", "validation_size", "test_size", "rows"),
    *("validation_rows", "test_rows", "top_classes", "unseen", "leaked", "model", "precision", "threads"),
)


@dataclass(frozen=True)
class Cell:
    """One recipe on one dataset with one seed and perhaps one fold."""

    dataset: str  # what tables call them
    variant: str
    spec: RunSpec
    pairs: str | None = None  # a dataset of scored pairs: the encoder's cosines are compared with its scores
    threads: int | None = None  # of its process, where the specification does not say; not part of the key

    @property
    def is_baseline(self) -> bool:
        """Whether its recipe is a yardstick from elsewhere rather than phases of ours."""
        return self.spec.recipe.name in BASELINES

    @property
    def name(self) -> str:
        """How messages and logs call it."""
        fold = f", fold {self.spec.split.fold[0]} of {self.spec.split.fold[1]}" if self.spec.split.fold else ""
        return f"{self.variant} on {self.dataset}, seed {self.spec.seed}{fold}"

    @cached_property
    def key(self) -> str:
        """A name for everything that decides the result: options, data, seed and protocol."""
        return digest(self.identity())

    def identity(self) -> dict[str, Any]:
        """What the key is made of."""
        return run_identity(self.spec, self.pairs)

    def command(self) -> str:
        """What a user types to do this one run alone, as far as one command can."""
        spec = self.spec.replace(threads=self.spec.machine.threads or self.threads)
        if self.is_baseline:  # these leave no run
            return ""
        words = ["phasefit", "train", str(spec.data.source), "--recipe", spec.recipe.name]
        words += [word for setting in setting_lines(spec.recipe.settings) for word in ("--set", setting)]
        words += [word for name in ("text", "label") for one in spec.option(name) for word in (f"--{name}", one)]
        for name in COMMAND_OPTIONS:
            if spec.option(name) != DEFAULTS[name]:
                words += [f"--{name.replace('_', '-')}", str(spec.option(name))]
        for name in ("classes", "levels"):
            if spec.option(name):
                words += [f"--{name}", ",".join(spec.option(name))]
        if spec.split.fold:
            words += ["--fold", f"{spec.split.fold[0]}/{spec.split.fold[1]}"]
        return shlex.join([*words, "--seed", str(spec.seed)])


def cell_folder(cache: Path, cell: Cell) -> Path:
    """Where a cell works and leaves its result."""
    return cache / cell.key
