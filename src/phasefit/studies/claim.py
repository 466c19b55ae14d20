"""A claim of a paper as data: one variant scores higher than another on a dataset. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from phasefit.errors import PhasefitError, RecipeError, did_you_mean
from phasefit.studies.checks import check_score

FORM = "LEFT > RIGHT on DATASET in SCORE"
SIGN = re.compile(r" ([<>]) ")


@dataclass(frozen=True)
class Claim:
    """The score of `left` is higher than that of `right`, as a number: a lower loss is `<` in the text."""

    text: str
    left: str
    right: str
    dataset: str
    score: str
    ours: bool = False  # our expectation, which no paper claims
    lower: bool = False  # whether the text has the lower score first


def parse_claim(
    text: str, variants: Collection[str], datasets: Collection[str], where: str, ours: bool = False
) -> Claim:
    """The claim in a text such as "three-phase > joint on SNIPS in test.accuracy"; RecipeError with the place."""
    head, _, score = text.rpartition(" in ")
    # Names may contain " on " and " > ": those that exist decide where the text is split.
    ends = [name for name in datasets if head.endswith(f" on {name}")]
    dataset = max(ends, key=len) if ends else head.rpartition(" on ")[2]
    sides = head.removesuffix(f" on {dataset}")
    splits = [(sides[: sign.start()], sign[1], sides[sign.end() :]) for sign in SIGN.finditer(sides)]
    known = [split for split in splits if split[0] in variants and split[2] in variants]
    if len(known) != 1 and len(splits) != 1:
        raise RecipeError(f"{where}: '{text}' is not a claim; write it as {FORM}, or with < for lower scores")
    one, sign, other = (known or splits)[0]
    for name in (one, other):
        if name not in variants:
            raise RecipeError(f"{where}: there is no variant '{name}'; {did_you_mean(name, variants)}")
    if one == other:
        raise RecipeError(f"{where}: '{one}' is compared with itself; name two variants")
    if dataset not in datasets:
        raise RecipeError(f"{where}: there is no dataset '{dataset}'; {did_you_mean(dataset, datasets)}")
    try:
        check_score(score)
    except PhasefitError as error:
        raise RecipeError(f"{where}: {error}") from None
    left, right = (one, other) if sign == ">" else (other, one)
    return Claim(text, left, right, dataset, score, ours, lower=sign == "<")
