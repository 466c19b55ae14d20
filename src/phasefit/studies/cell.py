"""A Cell: one run of a study, its name there, and the key of its result.

Cells with the same key have the same result, which is stored under the key and computed once. Imports no torch.
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

COMMAND_OPTIONS = (  # options with one value, by field name
    *("kind", "tree", "separator", "validation", "test", "unlabelled", "validation_size", "test_size", "rows"),
    *("validation_rows", "test_rows", "top_classes", "unseen", "leaked", "model", "precision", "threads"),
)


@dataclass(frozen=True)
class Cell:
    """One recipe on one dataset with one seed and optionally one fold."""

    dataset: str  # name in tables, as is the variant
    variant: str
    spec: RunSpec
    pairs: str | None = None  # dataset of scored pairs: evaluates the encoder's cosine similarities
    threads: int | None = None  # of its process if the specification sets none; not part of the key

    @property
    def is_baseline(self) -> bool:
        """Whether its recipe is a baseline rather than a sequence of phases."""
        return self.spec.recipe.name in BASELINES

    @property
    def name(self) -> str:
        """Name for messages and logs."""
        fold = f", fold {self.spec.split.fold[0]} of {self.spec.split.fold[1]}" if self.spec.split.fold else ""
        return f"{self.variant} on {self.dataset}, seed {self.spec.seed}{fold}"

    @cached_property
    def key(self) -> str:
        """Digest of everything that determines the result: options, data, seed and protocol."""
        return digest(self.identity())

    def identity(self) -> dict[str, Any]:
        """The content that the key is computed from."""
        return run_identity(self.spec, self.pairs)

    def command(self) -> str:
        """The command that repeats this run, as far as a single command can; empty for baselines."""
        spec = self.spec.replace(threads=self.spec.machine.threads or self.threads)
        if self.is_baseline:  # no run folder
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
    """Folder of a cell's files and result."""
    return cache / cell.key
