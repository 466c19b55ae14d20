"""A Cell: one run of a study, what it is called there, and a key made of everything that goes into it.

Two cells with one key give one result, so a result is kept under its key and never computed twice. Imports no torch.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from phasefit.baselines import BASELINES
from phasefit.files.manifest import versions
from phasefit.recipes import read_recipe
from phasefit.runs.saved_specification import spec_to_json
from phasefit.runs.specification import DEFAULT_RECIPE, DEFAULTS, RunSpec
from phasefit.studies.fingerprint import data_fingerprint, model_fingerprint

# What says where and how a run is shown, not what comes out of it. More checkpoints change nothing either.
BESIDE = (
    "out",
    "overwrite",
    "command",
    "track",
    "report",
    "keep_phases",
    "checkpoint_minutes",
    "data_dir",
    "model_name",
)
SAID = (  # options of one value, by the names of their fields
    *("kind", "tree", "separator", "validation", "test", "unlabelled", "validation_size", "test_size", "rows"),
    *("validation_rows", "test_rows", "top_classes", "unseen", "leaked", "model", "precision", "threads"),
)
SOURCES = ("data", "validation", "test", "unlabelled")


@dataclass(frozen=True)
class Cell:
    """One recipe on one dataset with one seed and perhaps one fold."""

    dataset: str  # what tables call them
    variant: str
    spec: RunSpec
    pairs: str | None = None  # a dataset of scored pairs: the encoder's cosines are compared with its scores
    extra: Mapping[str, Any] = field(default_factory=dict)  # whatever else its key should know

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
        """A name for everything that decides the result: data, recipe, seed, model, versions, threads."""
        return hashlib.sha256(json.dumps(self.ingredients(), sort_keys=True, default=str).encode()).hexdigest()[:24]

    def ingredients(self) -> dict[str, Any]:
        """What the key is made of; recipes by what they say and tables by what they hold, not by their names."""
        options = spec_to_json(self.spec)
        kept = {name: value for name, value in options.items() if name not in BESIDE and name not in SOURCES}
        sources = {name: value for name in SOURCES if (value := self.spec.option(name)) is not None}
        where = self.spec.data.data_dir
        kept |= {name: data_fingerprint(source, where) for name, source in sources.items()}
        if self.spec.split.score_test:
            kept.pop("score_test")  # as it is in every study but a search: keys are older than the field
        kept["model"] = model_fingerprint(self.spec.model)
        if not self.is_baseline and self.spec.recipe.name != DEFAULT_RECIPE:
            kept["recipe"] = _resolved(self.spec.recipe.name, self.spec.recipe.settings)
            kept.pop("settings")
            if files := read_recipe(self.spec.recipe.name, self.spec.recipe.settings).files():
                kept["files"] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        pairs = {} if self.pairs is None else {"pairs": data_fingerprint(self.pairs, where)}
        return {**kept, **pairs, **self.extra, "versions": versions()}

    def command(self) -> str:
        """What a user types to do this one run alone, as far as one command can."""
        spec = self.spec
        if self.is_baseline:  # these leave no run
            return ""
        words = ["phasefit", "train", str(spec.data.source), "--recipe", spec.recipe.name]
        words += [word for setting in spec.recipe.settings for word in ("--set", setting)]
        words += [word for name in ("text", "label") for one in spec.option(name) for word in (f"--{name}", one)]
        for name in SAID:
            if spec.option(name) != DEFAULTS[name]:
                words += [f"--{name.replace('_', '-')}", str(spec.option(name))]
        for name in ("classes", "levels"):
            if spec.option(name):
                words += [f"--{name}", ",".join(spec.option(name))]
        if spec.split.fold:
            words += ["--fold", f"{spec.split.fold[0]}/{spec.split.fold[1]}"]
        return shlex.join([*words, "--seed", str(spec.seed)])


@lru_cache(maxsize=512)
def _resolved(recipe: str, settings: tuple[str, ...]) -> str:
    """Every option of a recipe, without the line that names it."""
    toml = read_recipe(recipe, settings).to_toml()
    return toml.partition("\n")[2]


def cell_folder(cache: Path, cell: Cell) -> Path:
    """Where a cell works and leaves its result."""
    return cache / cell.key
