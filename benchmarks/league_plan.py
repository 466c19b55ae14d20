"""The plan of the league: which contestant runs on which rows, in which order; read from `league.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from phasefit.effort_levels import USUAL_EFFORT
from phasefit.runs.recipe.resolve import FEW, MANY, NAMED
from phasefit.runs.specification import DEFAULT_RECIPE
from phasefit.studies.key import PROTOCOL as TRAINING
from phasefit.studies.key import digest, recipe_identity

FILE = Path(__file__).parent / "league.toml"
DEVELOPMENT, FINAL = "development", "final"
PROTOCOL = 1
"""Increase it by one if the same cell may give another result: another split or draw of rows, encoder or score. Every
cell is then run again."""


@dataclass(frozen=True)
class Regime:
    """How many rows are labelled: `per_class` of each class, or `rows` in total."""

    name: str
    draws: int
    per_class: int | None = None
    rows: int | None = None
    sets: tuple[str, ...] = ()

    @property
    def size(self) -> dict[str, int]:
        """The number of rows, as part of a key."""
        return {"rows": self.rows} if self.per_class is None and self.rows else {"per_class": self.per_class or 0}


@dataclass(frozen=True)
class Contestant:
    """A script in `rivals` with settings. Names are only shown: results belong to the script and its settings."""

    name: str
    family: str
    script: str
    settings: Mapping[str, Any]
    regimes: tuple[str, ...] = ()  # all if empty
    draws: int | None = None
    late: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is phasefit."""
        return self.script == "phasefit"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What determines its training; for phasefit all options that differ from their defaults."""
        if not self.ours or "recipe" not in self.settings:
            return {"script": self.script, "settings": dict(self.settings)}
        options = {name: value for name, value in self.settings.items() if "." in name}
        rest = {name: value for name, value in self.settings.items() if "." not in name and name != "recipe"}
        recipe = recipe_identity(self.settings["recipe"], options)
        if self.settings["recipe"] == DEFAULT_RECIPE:  # those that it may be for labelled texts
            effort = self.settings.get("effort", USUAL_EFFORT)
            recipe |= {"recipes": [recipe_identity(name, options, effort) for name in (NAMED, FEW, MANY)]}
        return {"script": self.script, "recipe": recipe, "settings": rest, "training": TRAINING}


@dataclass(frozen=True)
class Cell:
    """One contestant on one draw of rows of one set."""

    stage: str
    regime: Regime
    dataset: str
    draw: int
    contestant: Contestant

    @property
    def block(self) -> tuple[str, str, int]:
        """Cells of one block are trained and tested on the same rows."""
        return self.regime.name, self.dataset, self.draw

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"{self.contestant.name} on {self.dataset}, {self.regime.name}, draw {self.draw}"

    def identity(self) -> dict[str, Any]:
        """What determines the result."""
        place = {"stage": self.stage, "set": self.dataset, "draw": self.draw, **self.regime.size}
        return {"protocol": PROTOCOL, **place, "contestant": self.contestant.identity}

    @cached_property
    def key(self) -> str:
        """The name of its file in the ledger."""
        return digest(self.identity())


@dataclass(frozen=True)
class Plan:
    """The content of `league.toml`."""

    development: tuple[str, ...]
    held_out: tuple[str, ...]
    regimes: tuple[Regime, ...]
    contestants: tuple[Contestant, ...]
    references: tuple[str, ...] = ()
    final_references: tuple[str, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)  # scores of held-out sets seen before, if settings are frozen

    def sets(self, stage: str) -> tuple[str, ...]:
        """Development and held-out sets alternate, so that a stopped run has some of both."""
        if stage == DEVELOPMENT:
            return self.development
        most = max(len(self.development), len(self.held_out))
        pairs = [part[place : place + 1] for place in range(most) for part in (self.development, self.held_out)]
        return tuple(name for pair in pairs for name in pair)

    def cells(self, stage: str) -> list[Cell]:
        """All cells, most informative first: a draw of every set before the next draw, slow rivals last in each."""
        wanted = [
            Cell(stage, regime, dataset, draw, contestant)
            for regime in self.regimes
            for dataset in self.sets(stage)
            for contestant in self.contestants
            for draw in range(min(regime.draws, contestant.draws or regime.draws))
            if dataset in (regime.sets or (*self.development, *self.held_out))
            and regime.name in (contestant.regimes or (regime.name,))
        ]
        places = {regime.name: place for place, regime in enumerate(self.regimes)}
        return sorted(wanted, key=lambda cell: (cell.draw, places[cell.regime.name], cell.contestant.late))


def read_plan(path: Path = FILE) -> Plan:
    """The plan in a file."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    regimes = tuple(Regime(**{**one, "sets": tuple(one.get("sets", ()))}) for one in content["regimes"])
    development, held_out = (tuple(content["sets"][name]) for name in ("development", "held_out"))
    references = (tuple(content.get(name, ())) for name in ("references", "final_references"))
    return Plan(development, held_out, regimes, contestants(content), *references)


def contestants(content: Mapping[str, Any]) -> tuple[Contestant, ...]:
    """The contestants of a file, `league.toml` or `settings-frozen.toml`."""
    return tuple(
        Contestant(**{**one, "regimes": tuple(one.get("regimes", ()))}) for one in content.get("contestants", ())
    )


def selected(cells: Sequence[Cell], **names: str | None) -> list[Cell]:
    """The cells with one of the comma-separated names of each option; an unknown name is refused."""
    kept = list(cells)
    for option, value in names.items():
        if value is None:
            continue
        wanted = [name.strip() for name in value.split(",")]
        known = dict.fromkeys(_names(cell)[option] for cell in cells)
        for name in wanted:
            if name not in known:
                raise SystemExit(f"--{option} has no '{name}'; choose from {', '.join(known)}")
        kept = [cell for cell in kept if _names(cell)[option] in wanted]
    return kept


def _names(cell: Cell) -> dict[str, str]:
    return {"regimes": cell.regime.name, "sets": cell.dataset, "contestants": cell.contestant.name}


def part_of(cells: Sequence[Cell], part: str | None) -> list[Cell]:
    """Part K of N. A block stays in one part, so that its CPU seconds are measured on one machine."""
    if part is None:
        return list(cells)
    number, _, parts = part.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise SystemExit(f"--part {part} is not K/N with K from 1 to N, for example 1/2")
    blocks = {block: place for place, block in enumerate(dict.fromkeys(cell.block for cell in cells))}
    return [cell for cell in cells if blocks[cell.block] % int(parts) == int(number) - 1]


def with_contestants(plan: Plan, content: Mapping[str, Any]) -> Plan:
    """The plan with the contestants and the seen scores of frozen settings, and the references of the final stage."""
    named = contestants(content)
    references = tuple(name for name in plan.final_references if any(name == one.name for one in named))
    return replace(plan, contestants=named, seen=content["seen"], references=references or plan.references)
