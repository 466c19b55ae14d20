"""The specification of a run, in sections; command line, estimators and studies all build it. Imports no torch.

For users, options have flat names (`--test-size`, `test_size=`); `run_spec` sorts them into the sections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import did_you_mean
from phasefit.prepare.specification import DataSpec, SplitSpec
from phasefit.runs.hub_model import with_local_model
from phasefit.runs.option_types import check_option

DEFAULT_RECIPE = "default"  # chosen by the number of rows per class
AUTO = "auto"  # chosen by trying several recipes
AUTO_MINUTES = 10.0  # the default time limit of the trials and the final training


@dataclass(frozen=True)
class RecipeSpec:
    """The recipe, its settings, and the steps after its phases."""

    name: str = DEFAULT_RECIPE  # or a TOML file
    recipe_toml: str | None = None  # the content of a recipe made in Python
    settings: Mapping[str, Any] = field(default_factory=dict)  # {"contrast.epochs": 4}
    effort: int = USUAL_EFFORT  # 1 to 5, if the recipe has efforts
    refit: bool = False
    calibrate: bool = True  # calibrate probabilities on validation rows with a temperature
    reject: float = 0.0  # share of validation rows left unanswered; sets the confidence threshold


@dataclass(frozen=True)
class MachineSpec:
    """Device, threads, precision and checkpoints."""

    device: str = "auto"
    threads: int | None = None
    precision: str = "auto"
    compile: bool = False  # torch.compile for the Transformer's layers: minutes at the start, faster steps
    track: str | None = None
    checkpoint_minutes: float = 5.0  # time between checkpoints; 0 writes one after every step


@dataclass(frozen=True)
class OutputSpec:
    """Which files are written, and where."""

    folder: Path | None = None
    overwrite: bool = False
    report: bool = True  # write the pictures, page and card
    baselines: bool = True  # after training, score TF-IDF and the frozen encoder on the same split
    keep_phases: bool = False  # save the encoder after each phase in the run folder
    command: str = ""  # the command line, for the manifest


@dataclass(frozen=True)
class RunSpec:
    """Everything that defines a run."""

    data: DataSpec
    split: SplitSpec = field(default_factory=SplitSpec)
    recipe: RecipeSpec = field(default_factory=RecipeSpec)
    machine: MachineSpec = field(default_factory=MachineSpec)
    output: OutputSpec = field(default_factory=OutputSpec)
    model: str | None = None  # a folder, a hub id or a run to continue from; None is the default model
    model_name: str | None = None  # the model's name in records, if `model` is only its current location
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
                options[name] = (value,)  # one name is a list of one
        changes = _by_section(options)
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
    """Refuse options, by their flat names, whose value does not have the declared type."""
    for name, value in options.items():
        check_option(name, value, TYPES[name])


def run_spec(data: Any, **options: Any) -> RunSpec:
    """The specification with these options, by their flat names; all others have their defaults.

    A model given as `hub:owner/name` is downloaded.
    """
    return RunSpec(DataSpec(data)).replace(**with_local_model(options))


def _by_section(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
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


DEFAULTS = RunSpec(DataSpec(None)).options()  # for every option but `data`
