"""A Space: the values that a search may try for options of a recipe. Imports neither torch nor Optuna.

A space file looks like a recipe, with lists and ranges instead of values:

    [finetune]
    lr = { low = 1e-5, high = 1e-3, log = true }
    batch_size = [16, 32, 64]
    dropout = { around = 2 }      # from half to twice the recipe's own value

`[any]` applies to every phase that has the option; `optional = true` ignores phases that the recipe lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from phasefit.errors import RecipeError
from phasefit.phases.options import PhaseOptions
from phasefit.recipes import Recipe, read_recipe
from phasefit.recipes.listing import as_written
from phasefit.recipes.settings import Settings, merge_settings, parse_value

DIGITS = 3  # of values drawn from a range: more would suggest a false precision
RANGE = {"low", "high", "log", "step", "around"}


@dataclass(frozen=True)
class Choices:
    """A list of values, as --set writes them."""

    values: tuple[str, ...]

    def listed(self) -> list[Any] | None:
        """All values."""
        return list(self.values)

    def as_setting(self, value: Any) -> Any:
        """A drawn value as a value of the recipe."""
        return parse_value(str(value))

    def place(self, value: Any) -> Any | None:
        """The recipe's own value as a draw; None if it is not in the list."""
        return next((one for one in self.values if _same(one, value)), None)


@dataclass(frozen=True)
class Range:
    """A range of numbers from low to high."""

    low: float
    high: float
    log: bool = False
    step: float | None = None
    whole: bool = False

    def listed(self) -> list[Any] | None:
        """All values of a range with steps; None for a continuous range."""
        if self.step is None and not self.whole:
            return None
        step = self.step or 1
        number = int((self.high - self.low) / step + 1e-9) + 1
        values = [self.low + step * index for index in range(number)]
        return [round(value) for value in values] if self.whole else [round(value, 10) for value in values]

    def as_setting(self, value: Any) -> Any:
        """A drawn number as a value of the recipe, rounded to a few digits."""
        return int(value) if self.whole else float(f"{float(value):.{DIGITS}g}")

    def place(self, value: Any) -> Any | None:
        """The recipe's own value as a draw; None if it is outside the range or between steps."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            return None
        steps = self.listed()
        if steps is None:
            return float(value)
        return next((one for one in steps if abs(one - value) < 1e-9), None)


Dimension = Choices | Range


@dataclass(frozen=True)
class Space:
    """Dimensions by option name, as --set writes it."""

    name: str
    dimensions: Mapping[str, Dimension]

    @property
    def size(self) -> int | None:
        """Number of points; None if a range is continuous."""
        counts = [one.listed() for one in self.dimensions.values()]
        return None if any(one is None for one in counts) else prod(len(one or ()) for one in counts)

    def settings(self, drawn: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
        """The drawn values as settings; with epochs, the recipe's min_steps is kept."""
        settings = {name: self.dimensions[name].as_setting(value) for name, value in drawn.items()}
        options = dict(zip(recipe.phase_names, recipe.phases, strict=True))
        for name in list(settings):
            phase, _, option = name.partition(".")
            if option == "epochs" and f"{phase}.min_steps" not in settings and options[phase].min_steps > 1:
                settings[f"{phase}.min_steps"] = options[phase].min_steps
        return settings

    def own_point(self, recipe: Recipe) -> dict[str, Any] | None:
        """The recipe's own values as a draw; None if the space does not contain them."""
        point = {name: one.place(value_of(recipe, name)) for name, one in self.dimensions.items()}
        return None if any(value is None for value in point.values()) else point

    def corners(self) -> Iterator[tuple[str, Any]]:
        """Values that show whether a whole dimension is allowed: every choice, both ends of a range."""
        for name, one in self.dimensions.items():
            ends = list(one.values) if isinstance(one, Choices) else [one.low, one.high]
            yield from ((name, value) for value in ends)


def check_space(space: Space, recipe: str, settings: Settings) -> None:
    """Raise for values that the recipe does not accept, before any trial."""
    if not space.dimensions:
        raise RecipeError(f"the space '{space.name}' has no option of {recipe}; name options with --try")
    known = read_recipe(recipe, settings)
    for name, value in space.corners():
        try:
            corner = read_recipe(recipe, merge_settings(settings, space.settings({name: value}, known)))
        except RecipeError as error:
            raise RecipeError(f"space '{space.name}', {name}: {_bare(str(error))}") from error
        if ".objective" in name or ".views" in name:
            corner.check()


def value_of(recipe: Recipe, name: str) -> Any:
    """A recipe's value of the option of this name; None if it is not set."""
    phase, _, path = name.partition(".")
    if not path:
        return getattr(recipe, phase, None)
    if phase not in recipe.phase_names:
        return None
    value: Any = recipe.phases[recipe.phase_names.index(phase)]
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, PhaseOptions) or hasattr(value, part):
            value = getattr(value, part, None)
        else:
            return None
    return value


def _same(written: str, value: Any) -> bool:
    try:
        return float(written) == float(value)
    except (TypeError, ValueError):
        return written == as_written(value)


def _bare(message: str) -> str:
    """The message without its `--set ...:`, which the user did not type."""
    return message.partition(": ")[2] if message.startswith("--set ") else message
