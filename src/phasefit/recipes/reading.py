"""Strict reading of recipes: an error names the file, the phase, the option and the closest valid name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import RecipeError, constraint, did_you_mean
from phasefit.models.encoder.long_texts import WAYS
from phasefit.models.encoder.template import check_template
from phasefit.phases import PHASES
from phasefit.phases.options import PhaseOptions
from phasefit.recipes.efforts import with_effort
from phasefit.recipes.recipe import TFIDF, Recipe
from phasefit.recipes.recipe_files import WHOLE, is_baseline_recipe, names_of, parse_content, recipe_path, recipe_text
from phasefit.recipes.settings import NONE, Settings, apply_setting, setting_line

LENGTHS = ("model", "auto", "train")  # values of max_length that are not numbers
MOST_NAMED = 8  # options that an error lists


def read_recipe(name: str, settings: Settings = NONE, effort: int = USUAL_EFFORT) -> Recipe:
    """Read a packaged recipe or a file, at this effort, and apply settings such as {"contrast.epochs": 4}."""
    if is_baseline_recipe(name):
        return parse_recipe(recipe_text(name), name=name, where=name, settings=settings, effort=effort)
    path, text = recipe_path(name), recipe_text(name)
    return parse_recipe(text, name=path.stem, where=path.name, settings=settings, folder=path.parent, effort=effort)


def efforts_of(name: str) -> list[int]:
    """The efforts of a recipe that can be read, the usual one included."""
    if is_baseline_recipe(name):
        return [USUAL_EFFORT]
    path = recipe_path(name)
    own = parse_content(recipe_text(name), path.name, path.parent).get("effort", {})
    return sorted({USUAL_EFFORT, *map(int, own)})


def parse_recipe(
    text: str,
    *,
    name: str,
    where: str,
    settings: Settings = NONE,
    folder: Path | None = None,
    effort: int = USUAL_EFFORT,
) -> Recipe:
    """Parse a recipe; `where` starts every error message, `folder` is searched for the base."""
    content = with_effort(parse_content(text, where, folder), effort, where)
    names = names_of(content)
    options = _all_options(content, [f"{where}, phase {index}" for index in range(1, len(names) + 1)])
    first_error: RecipeError | None = None
    # One at a time, so that an error names the right setting; a later setting may fix it.
    for path, value in settings.items():
        apply_setting(content, names, path, settings)
        try:
            options, first_error = _all_options(content, [f"--set {setting_line(path, value)}"] * len(names)), None
        except RecipeError as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error
    _check_last_phase(options, where)
    for index, phase in enumerate(options):
        phase.check_order(f"{where}, phase {index + 1}", options[:index])
    baseline = content.get("baseline")
    if baseline == TFIDF and (idle := [key for key in WHOLE if key in content]):
        raise RecipeError(f"{where}: '{TFIDF}' has no encoder, so {idle[0]} has no effect; remove it")
    max_length = _max_length(content.get("max_length", "model"), where)
    long = _long(content.get("long"), where)
    return Recipe(name, tuple(options), max_length, _prompt(content.get("prompt"), where), long, baseline)


def _all_options(content: dict[str, Any], places: Sequence[str]) -> list[PhaseOptions]:
    return [_options(phase, place) for phase, place in zip(content["phase"], places, strict=True)]


def _check_last_phase(options: Sequence[PhaseOptions], where: str) -> None:
    heads = [phase.trains_head for phase in options]
    if any(heads) and not heads[-1]:
        raise RecipeError(
            f"{where}, phase {len(heads)}: '{options[-1].kind}' would change the encoder after its head was trained; "
            "end the recipe with a finetune phase"
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
    if not place:  # about several options, which the message names
        return problem["msg"].removeprefix("Value error, ")
    message = constraint(problem["msg"])
    colon = "" if message.startswith("must ") else ":"
    return f"option '{place[0]}'{colon} {message} (found {problem['input']!r})"


def _nearest(options: type[BaseModel], place: Sequence[str], known: Sequence[str]) -> str:
    """Suggest the closest name; if there is none, list some names and the command that lists all."""
    near = did_you_mean(place[-1], known)
    if len(known) <= MOST_NAMED or not near.startswith("known:"):
        return near
    kind, some = options.model_fields["kind"].default, [name for name in known if name != "kind"][:MOST_NAMED]
    listed = f"known: {', '.join(some)} ... ('phasefit recipes options {kind}' lists all)"
    inside = "set options of an objective inside it, e.g. objective.temperature"
    return f"{listed}; {inside}" if "objective" in known else listed


def _names_at(options: type[BaseModel], place: Sequence[str]) -> list[str]:
    """Option names of a nested table, e.g. `balance`."""
    for part in place:
        inner = options.model_fields[part].annotation if part in options.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        options = inner
    return list(options.model_fields)


def _max_length(value: Any, where: str) -> int | str:
    if value in LENGTHS or (isinstance(value, int) and not isinstance(value, bool) and value >= 4):
        return value  # type: ignore[no-any-return]
    names = ", ".join(map(repr, LENGTHS))
    raise RecipeError(f"{where}: max_length must be {names} or a number of at least 4 (found {value!r})")


def _long(value: Any, where: str) -> str | None:
    if value is not None and value not in WAYS:
        raise RecipeError(f"{where}: long must be one of {', '.join(map(repr, WAYS))} (found {value!r})")
    return value  # type: ignore[no-any-return]


def _prompt(value: Any, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return check_template(value, where) if value else None  # an empty prompt removes that of the base
    raise RecipeError(f"{where}: prompt must be a template such as '{{text}} It is about {{mask}}.' (found {value!r})")
