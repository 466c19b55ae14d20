"""From what a recipe says about views to the views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from phasefit.errors import DataError, RecipeError, did_you_mean
from phasefit.models.views.adversarial import Adversarial
from phasefit.models.views.contract import View
from phasefit.models.views.delete_stop_words import DeleteStopWords
from phasefit.models.views.delete_words import DeleteWords
from phasefit.models.views.dropout import Dropout
from phasefit.models.views.mask_span import MaskSpan
from phasefit.models.views.synonyms import Synonyms

VIEWS: dict[str, type[View]] = {
    "delete-words": DeleteWords,
    "delete-stop-words": DeleteStopWords,
    "mask-span": MaskSpan,
    "synonyms": Synonyms,
    "dropout": Dropout,
    "adversarial": Adversarial,
}


def build_views(where: str, given: Sequence[str | dict[str, Any]]) -> tuple[View, ...]:
    """Each a name, or a table with `name` and the view's own options; the files they need are read."""
    return tuple(_build(where, one) for one in given)


def _build(where: str, given: str | dict[str, Any]) -> View:
    said = {"name": given} if isinstance(given, str) else dict(given)
    name = said.pop("name", None)
    if not isinstance(name, str):
        raise RecipeError(f"{where}: each view needs a name, e.g. {{ name = 'mask-span' }}")
    if name not in VIEWS:
        raise RecipeError(f"{where}: unknown view '{name}'; {did_you_mean(name, VIEWS)}")
    chosen: Any = VIEWS[name]
    known = [field.name for field in fields(chosen)]
    for option in said:
        if option not in known:
            raise RecipeError(f"{where}: view '{name}' has no option '{option}'; {did_you_mean(option, known)}")
    try:
        built: View = TypeAdapter(chosen).validate_python(said)
    except ValidationError as error:
        raise RecipeError(f"{where}: view '{name}'{_problem(error)}") from error
    try:
        built.check()
    except DataError as error:
        raise RecipeError(f"{where}: view '{name}': {error}") from error
    return built


def _problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    if problem["type"] in ("missing", "missing_argument"):
        return f" needs the option '{problem['loc'][-1]}'"
    place = "".join(f", {part}" for part in problem["loc"])
    return f"{place}: {problem['msg'].removeprefix('Value error, ')} (found {problem['input']!r})"
