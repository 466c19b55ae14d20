"""Reading a recipe strictly: an error says the file, the phase, the option, and the nearest name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from phasefit.errors import RecipeError, did_you_mean
from phasefit.models.encoder.long_texts import WAYS
from phasefit.models.encoder.template import check_template
from phasefit.phases import PHASES
from phasefit.phases.options import PhaseOptions
from phasefit.recipes.recipe import Recipe
from phasefit.recipes.recipe_files import names_of, parse_content, recipe_path, recipe_text
from phasefit.recipes.settings import NONE, Settings, apply_setting, setting_line

MOST_NAMED = 8  # options that an error lists


def read_recipe(name: str, settings: Settings = NONE) -> Recipe:
    """A packaged recipe or a file, with settings such as {"contrast.epochs": 4} applied."""
    path = recipe_path(name)
    return parse_recipe(recipe_text(name), name=path.stem, where=path.name, settings=settings, beside=path.parent)


def parse_recipe(text: str, *, name: str, where: str, settings: Settings = NONE, beside: Path | None = None) -> Recipe:
    """A recipe out of TOML text; `where` begins every error, `beside` is where a base may lie."""
    content = parse_content(text, where, beside)
    names = names_of(content)
    options = _all_options(content, [f"{where}, phase {index}" for index in range(1, len(names) + 1)])
    wrong: RecipeError | None = None
    # One by one, so that an error blames the right one; a later one may put it right.
    for path, value in settings.items():
        apply_setting(content, names, path, settings)
        try:
            options, wrong = _all_options(content, [f"--set {setting_line(path, value)}"] * len(names)), None
        except RecipeError as error:
            wrong = wrong or error
    if wrong is not None:
        raise wrong
    _refuse_a_head_left_behind(options, where)
    for index, phase in enumerate(options):
        phase.check_order(f"{where}, phase {index + 1}", options[:index])
    max_length = _max_length(content.get("max_length", "model"), where)
    long = _long(content.get("long"), where)
    return Recipe(name, tuple(options), max_length, _prompt(content.get("prompt"), where), long)


def _all_options(content: dict[str, Any], places: Sequence[str]) -> list[PhaseOptions]:
    return [_options(phase, place) for phase, place in zip(content["phase"], places, strict=True)]


def _refuse_a_head_left_behind(options: Sequence[PhaseOptions], where: str) -> None:
    heads = [phase.trains_head for phase in options]
    if any(heads) and not heads[-1]:
        raise RecipeError(
            f"{where}, phase {len(heads)}: '{options[-1].kind}' would change the encoder under a head that is already "
            "trained; end the recipe with a finetune phase"
        )


def _options(phase: dict[str, Any], where: str) -> PhaseOptions:
    chosen = PHASES.get(phase["kind"])
    try:
        return chosen.model_validate(phase)
    except ValidationError as error:
        raise RecipeError(f"{where}: {_first_problem(chosen, error)}") from error


def _first_problem(options: type[BaseModel], error: ValidationError) -> str:
    problem = error.errors()[0]
    place = [str(part) for part in problem["loc"]]
    if problem["type"] == "extra_forbidden":
        known = _names_at(options, place[:-1])
        inside = f" in '{'.'.join(place[:-1])}'" if place[1:] else ""
        return f"unknown option '{place[-1]}'{inside}; {_nearest(options, place, known)}"
    message = problem["msg"].removeprefix("Value error, ")
    if not place:  # of several options together: the sentence names them
        return message
    return f"option '{place[0]}': {message[0].lower()}{message[1:]} (found {problem['input']!r})"


def _nearest(options: type[BaseModel], place: Sequence[str], known: Sequence[str]) -> str:
    """The nearest name; where none is near, a few, where all are listed, and where an objective's options go."""
    near = did_you_mean(place[-1], known)
    if len(known) <= MOST_NAMED or not near.startswith("known:"):
        return near
    kind, few = options.model_fields["kind"].default, [name for name in known if name != "kind"][:MOST_NAMED]
    listed = f"known: {', '.join(few)} ... ('phasefit recipes options {kind}' lists all)"
    inside = "options of an objective go into it, e.g. objective.temperature"
    return f"{listed}; {inside}" if "objective" in known else listed


def _names_at(options: type[BaseModel], place: Sequence[str]) -> list[str]:
    """The option names of a table inside the options, e.g. those of `balance`."""
    for part in place:
        inner = options.model_fields[part].annotation if part in options.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        options = inner
    return list(options.model_fields)


def _max_length(value: Any, where: str) -> int | str:
    if value in ("model", "auto") or (isinstance(value, int) and not isinstance(value, bool) and value >= 4):
        return value  # type: ignore[no-any-return]
    raise RecipeError(f"{where}: max_length is 'model', 'auto' or a number of tokens from 4 on (found {value!r})")


def _long(value: Any, where: str) -> str | None:
    if value is not None and value not in WAYS:
        raise RecipeError(f"{where}: long is {', '.join(map(repr, WAYS))} (found {value!r})")
    return value  # type: ignore[no-any-return]


def _prompt(value: Any, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return check_template(value, where) if value else None  # empty: without that of the base
    raise RecipeError(f"{where}: prompt is a text such as '{{text}} It is about {{mask}}.' (found {value!r})")
