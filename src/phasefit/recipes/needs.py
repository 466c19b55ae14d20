"""What a recipe must have of every training row: a label, other texts beside its text, or the text alone."""

from __future__ import annotations

from dataclasses import dataclass

from phasefit.data.columns import Sides
from phasefit.errors import RecipeError
from phasefit.recipes import Recipe


@dataclass(frozen=True)
class Needs:
    """Whether some phase looks at labels, and whether some phase looks at the texts beside a text."""

    labels: bool = True
    pairs: bool = False
    labels_of_pairs: bool = False  # whether labels may be those of pairs of texts
    texts: bool = False  # whether some phase needs nothing but texts
    tasks: bool = False  # whether some phase learns several tasks at once

    @property
    def sides(self) -> Sides:
        """How tables of pairs and triples are read."""
        if self.pairs:
            return "pairs"
        if self.labels:
            return "two" if self.labels_of_pairs else "one"
        return "each"


def needs_of(recipe: Recipe, *, open: bool = False) -> Needs:
    """The needs of all its phases together; one recipe cannot have both: the label of a pair is not that of a text.

    `open` is a recipe that nobody named: pairs with labels will get another one.
    """
    by_need = {options.needs: name for name, options in zip(recipe.phase_names, recipe.phases, strict=True)}
    if {"labels", "pairs"} <= {*by_need}:
        raise RecipeError(
            f"{recipe.name}: {by_need['pairs']} learns from pairs of texts and {by_need['labels']} from labels; train "
            "them one after the other, the second on the first's run with --model"
        )
    if {"labels", "tasks"} <= {*by_need}:
        raise RecipeError(
            f"{recipe.name}: {by_need['tasks']} learns from a task file and {by_need['labels']} from the labels of one "
            "table; train them one after the other, the second on the first's run with --model"
        )
    pairs = open or all(options.takes_pairs for options in recipe.phases)
    has = [need in by_need for need in ("labels", "pairs", "texts", "tasks")]
    return Needs(has[0], has[1], pairs, has[2], has[3])
