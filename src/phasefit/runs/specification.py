"""What a run is asked to do, in sections; command line, estimators and studies all build it here. Imports no torch.

Outside, options have flat names (`--test-size`, `test_size=`); `run_spec` sorts them into the sections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from phasefit.errors import did_you_mean
from phasefit.prepare.specification import DataSpec, SplitSpec
from phasefit.runs.option_types import check_option

DEFAULT_RECIPE = "default"  # whatever fits the rows
AUTO = "auto"  # chosen by trying several, on the command line


@dataclass(frozen=True)
class RecipeSpec:
    """The recipe and what is done around its phases."""

    name: str = DEFAULT_RECIPE  # or a TOML file
    recipe_toml: str | None = None  # the recipe itself, where it was made in Python
    settings: Mapping[str, Any] = field(default_factory=dict)  # {"contrast.epochs": 4}
    refit: bool = False
    calibrate: bool = True  # probabilities are fitted to validation rows by a temperature
    reject: float = 0.0  # the share of validation rows that may go unanswered; sets how sure an answer must be


@dataclass(frozen=True)
class MachineSpec:
    """Where and how it is computed."""

    device: str = "auto"
    threads: int | None = None
    precision: str = "auto"
    compile: bool = False  # the Transformer's layers through torch.compile: minutes ahead, less for each step
    track: str | None = None
    checkpoint_minutes: float = 5.0  # between two checkpoints; 0 writes one after every step


@dataclass(frozen=True)
class OutputSpec:
    """What is written, and where."""

    folder: Path | None = None
    overwrite: bool = False
    report: bool = True  # pictures, page and card of the run
    keep_phases: bool = False  # the encoder after each phase stays in the run's folder
    command: str = ""  # how it was called, for the record


@dataclass(frozen=True)
class RunSpec:
    """A run before it begins."""

    data: DataSpec
    split: SplitSpec = field(default_factory=SplitSpec)
    recipe: RecipeSpec = field(default_factory=RecipeSpec)
    machine: MachineSpec = field(default_factory=MachineSpec)
    output: OutputSpec = field(default_factory=OutputSpec)
    model: str | None = None  # a local folder, a hub id, a run to continue from; None is the default model
    model_name: str | None = None  # what records call the model, where `model` is only where it lies now
    seed: int = 0

    def options(self) -> dict[str, Any]:
        """Every option by its flat name."""
        return {name: self.option(name) for name in OPTIONS}

    def option(self, name: str) -> Any:
        """The value of the option with this flat name."""
        section, attribute = _place(name)
        return getattr(getattr(self, section) if section else self, attribute)

    def replace(self, **options: Any) -> RunSpec:
        """The same run with other values for some options, given by their flat names."""
        if "settings" in options:
            from phasefit.recipes.settings import as_settings

            options["settings"] = as_settings(options["settings"] or {})
        for name, value in options.items():
            if isinstance(value, str) and TYPES.get(name) == tuple[str, ...]:
                options[name] = (value,)  # one name stands for a list of one
        changes = _sorted_in(options)
        changed = {name: replace(getattr(self, name), **inside) for name, inside in changes.items() if name}
        spec = replace(self, **changed, **changes.get("", {}))
        check_options(options)
        return spec


SECTIONS: dict[str, type] = {
    "data": DataSpec,
    "split": SplitSpec,
    "recipe": RecipeSpec,
    "machine": MachineSpec,
    "output": OutputSpec,
}
FLAT_NAMES = {("data", "source"): "data", ("recipe", "name"): "recipe", ("output", "folder"): "out"}
OPTIONS: dict[str, tuple[str, str]] = {  # flat name -> section ("" is the run itself) and attribute
    **{
        FLAT_NAMES.get((section, item.name), item.name): (section, item.name)
        for section, of in SECTIONS.items()
        for item in fields(of)
    },
    **{item.name: ("", item.name) for item in fields(RunSpec) if item.name not in SECTIONS},
}


TYPES = {
    name: hints[attribute]
    for section, of in {**SECTIONS, "": RunSpec}.items()
    for hints in [get_type_hints(of)]
    for name, (place, attribute) in OPTIONS.items()
    if place == section
}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options, by their flat names, with a value of another type than the declared one."""
    for name, value in options.items():
        check_option(name, value, TYPES[name])


def run_spec(data: Any, **options: Any) -> RunSpec:
    """The specification with these options, by their flat names; all others have their defaults."""
    return RunSpec(DataSpec(data)).replace(**options)


def _sorted_in(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Options by section."""
    sections: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        section, attribute = _place(name)
        sections.setdefault(section, {})[attribute] = value
    return sections


def _place(name: str) -> tuple[str, str]:
    if name not in OPTIONS:
        raise TypeError(f"a run has no option '{name}'; {did_you_mean(name, OPTIONS)}")
    return OPTIONS[name]


DEFAULTS = RunSpec(DataSpec(None)).options()  # every option but `data` has one
