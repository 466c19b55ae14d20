"""From what a recipe says about views to the views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phasefit.errors import DataError, RecipeError
from phasefit.models.named_option import build_named
from phasefit.models.views.contract import View
from phasefit.registry import Registry

VIEWS: Registry[type[View]] = Registry(
    "view",
    "phasefit.views",
    base=View,
    entries={
        "delete-words": "phasefit.models.views.delete_words:DeleteWords",
        "delete-stop-words": "phasefit.models.views.delete_stop_words:DeleteStopWords",
        "mask-span": "phasefit.models.views.mask_span:MaskSpan",
        "synonyms": "phasefit.models.views.synonyms:Synonyms",
        "dropout": "phasefit.models.views.dropout:Dropout",
        "adversarial": "phasefit.models.views.adversarial:Adversarial",
    },
)


def build_views(where: str, given: Sequence[str | dict[str, Any]]) -> tuple[View, ...]:
    """Each a name, or a table with `name` and the view's own options; the files they need are read."""
    return tuple(_build(where, one) for one in given)


def _build(where: str, given: str | dict[str, Any]) -> View:
    built = build_named(where, given, VIEWS)
    try:
        built.check()
    except DataError as error:
        raise RecipeError(f"{where}: view '{built.name}': {error}") from error
    return built
