"""Views: small augmentations of a text that preserve its meaning, applied in order and sampled again at every step.

Most map a text to a text; `dropout` relies on the encoder's own dropout, `adversarial` shifts the input embeddings.
In a recipe: `views = ["delete-words", { name = "mask-span", characters = 5 }]`. A phase creates them once and uses them
at every step for the rows of its batch:

    views = Views(build_views(name, options.views), model.encoder, where=name)
    features = views.features(data.texts, data.tokens, rows, batch.generator)
    vectors = sentence_vectors(views.output(batch.put(features)))

`output` is the encoder's output, including the adversarial shift if `views.adversarial` is set, so a phase need not
check. To add a view, add a file here and a line below; the contract tests then cover it. May import errors, registry,
data and the rest of `models`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phasefit.errors import DataError, RecipeError
from phasefit.models.named_option import build_named
from phasefit.models.views.contract import View
from phasefit.models.views.views import Views
from phasefit.registry import Registry

__all__ = ["VIEWS", "View", "Views", "build_views"]

VIEWS: Registry[type[View]] = Registry(
    "view",
    "phasefit.views",
    base=View,
    entries={
        "delete-words": "phasefit.models.views.delete_words:DeleteWords",
        "delete-stop-words": "phasefit.models.views.delete_words:DeleteStopWords",
        "mask-span": "phasefit.models.views.mask_span:MaskSpan",
        "synonyms": "phasefit.models.views.synonyms:Synonyms",
        "dropout": "phasefit.models.views.dropout:Dropout",
        "adversarial": "phasefit.models.views.adversarial:Adversarial",
    },
)


def build_views(where: str, given: Sequence[str | dict[str, Any]]) -> tuple[View, ...]:
    """The views of a recipe, each a name or a table with `name` and options; reads the files they need."""
    return tuple(_build(where, one) for one in given)


def _build(where: str, given: str | dict[str, Any]) -> View:
    built = build_named(where, given, VIEWS)
    try:
        built.check()
    except DataError as error:
        raise RecipeError(f"{where}: view '{built.name}': {error}") from error
    return built
