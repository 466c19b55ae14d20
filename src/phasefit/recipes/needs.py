"""What a recipe needs in every training row: a label, a pair of texts, or only a text."""

from __future__ import annotations

from dataclasses import dataclass

from phasefit.data.columns import Sides
from phasefit.errors import RecipeError
from phasefit.recipes import Recipe


@dataclass(frozen=True)
class Needs:
    """What the phases of a recipe need."""

    labels: bool = True
    pairs: bool = False
    labels_of_pairs: bool = False  # whether labels may belong to pairs of texts
    texts: bool = False  # whether some phase needs only texts
    tasks: bool = False  # whether some phase trains several tasks

    @property
    def sides(self) -> Sides:
        """How tables of pairs and triples are read."""
        if self.pairs:
            return "pairs"
        if self.labels:
            return "two" if self.labels_of_pairs else "one"
        return "each"


def needs_of(recipe: Recipe, *, open: bool = False) -> Needs:
    """The combined needs of all phases. Labels cannot be combined with pairs or tasks in one recipe.

    With `open`, the user has not chosen a recipe: another one is used if the table has labelled pairs.
    """
    if recipe.baseline is not None:
        return Needs(labels_of_pairs=True)
    by_need = {options.needs: name for name, options in zip(recipe.phase_names, recipe.phases, strict=True)}
    if {"labels", "pairs"} <= {*by_need}:
        raise RecipeError(
            f"{recipe.name}: {by_need['pairs']} needs pairs of texts and {by_need['labels']} needs labels; train "
            "them in two runs, and pass the first run to the second with --model"
        )
    if {"labels", "tasks"} <= {*by_need}:
        raise RecipeError(
            f"{recipe.name}: {by_need['tasks']} needs a task file and {by_need['labels']} needs one table with labels; "
            "train them in two runs, and pass the first run to the second with --model"
        )
    pairs = open or all(options.takes_pairs for options in recipe.phases)
    has = [need in by_need for need in ("labels", "pairs", "texts", "tasks")]
    return Needs(has[0], has[1], pairs, has[2], has[3])
