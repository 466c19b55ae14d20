"""From what a recipe says about views to the views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phasefit.errors import DataError, RecipeError
from phasefit.models.named_option import build_named
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
    built = build_named(where, "view", given, VIEWS)
    try:
        built.check()
    except DataError as error:
        raise RecipeError(f"{where}: view '{built.name}': {error}") from error
    return built
