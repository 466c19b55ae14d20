"""Whether the claims of a paper hold in our runs, from the same paired tests as the tables. Imports no torch.

A verdict needs every planned run of both variants: looking at the first ones and stopping at a good moment would find
differences that do not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phasefit.control_characters import one_line
from phasefit.studies.cell import Cell
from phasefit.studies.claim import Claim
from phasefit.studies.result import Result, figure
from phasefit.studies.statistics import holm
from phasefit.studies.study import Study, TableSpec
from phasefit.studies.tables import Row, fill
from phasefit.studies.verdict import is_significant, spelled_gain, spelled_interval

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "does not hold", "undecided", "not run"
HEADINGS = ("claim", "published", "ours [95 % interval]", "p", "cells", "verdict")
EXPLAINED = (
    "A claim holds if the difference has the claimed sign with p < 0.05 and does not hold if it has the other sign; "
    "otherwise all planned cells are in and cannot tell (undecided). Until they are in, a claim counts as not run. "
    "p: paired t test as in the tables, corrected for the claims about the same dataset and score (Holm), those of the "
    "paper and our own expectations separately. Verdicts are about these runs: the notes state the model and what the "
    "scale reduces."
)


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, what the paper published, our difference (left minus right), and the verdict."""

    claim: Claim
    verdict: str
    cells: int  # with a result, of both variants
    planned: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    published: float | None = None
    published_model: str | None = None
    reason: str = ""  # why it is not run

    def to_json(self) -> dict[str, Any]:
        """Content for results.json and the page."""
        names = ("verdict", "reason", "difference", "low", "high", "p", "cells", "planned", "published")
        of_claim = {name: getattr(self.claim, name) for name in ("text", "left", "right", "dataset", "score", "ours")}
        more = {"published_model": self.published_model, "shown": dict(zip(HEADINGS, shown(self), strict=True))}
        return {**of_claim, **{name: getattr(self, name) for name in names}, **more}


def claim_verdicts(study: Study, cells: Sequence[Cell], results: Mapping[str, Result]) -> list[ClaimVerdict]:
    """A verdict for each claim of the study, in its order."""
    judged = [_measured(claim, study, cells, results) for claim in study.claims]
    families: dict[tuple[str, str, bool], list[int]] = {}
    for index, one in enumerate(judged):
        families.setdefault((one.claim.dataset, one.claim.score, one.claim.ours), []).append(index)
    for family in families.values():
        corrected = holm([judged[index].p for index in family], len(family))
        for index, p in zip(family, corrected, strict=True):
            judged[index] = _decided(replace(judged[index], p=p))
    return judged


def _measured(claim: Claim, study: Study, cells: Sequence[Cell], results: Mapping[str, Result]) -> ClaimVerdict:
    """The paired difference, not yet corrected for other claims; a claim that cannot be judged has no p value."""
    pairs = _pairs(claim, cells)
    known = [pair for pair in pairs if all(cell.key in results for cell in pair)]
    published, model = _published(claim, study)
    present = sum(cell.key in results for pair in pairs for cell in pair)
    one = ClaimVerdict(claim, NOT_RUN, present, 2 * len(pairs), published=published, published_model=model)
    if not pairs:
        planned = {cell.variant for cell in cells if cell.dataset == claim.dataset}
        alone = "its two variants have no seed in common"
        left_out = "these runs are not part of the selected scale, datasets or tables"
        return replace(one, reason=alone if {claim.left, claim.right} <= planned else left_out)
    row = _row(claim, study, [cell for pair in known for cell in pair], results) if known else None
    one = replace(one, difference=None if row is None else row.difference)
    if len(known) < len(pairs):
        return replace(one, reason=f"{present} of {one.planned} cells are in")
    scored = sum(figure(results[cell.key].metrics, claim.score) is not None for pair in pairs for cell in pair)
    if row is None or row.difference is None or scored < one.planned:
        without = f"{one.planned - scored} of {one.planned} runs have no" if scored else "no run has a"
        return replace(one, difference=None, reason=f"{without} score '{claim.score}'")
    return replace(one, verdict=UNDECIDED, low=row.difference_low, high=row.difference_high, p=row.p)


def _pairs(claim: Claim, cells: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """The planned cells of both variants with the same seed and fold."""
    sides: dict[str, dict[Any, Cell]] = {claim.left: {}, claim.right: {}}
    for cell in cells:
        if cell.dataset == claim.dataset and cell.variant in sides:
            sides[cell.variant][cell.spec.seed, cell.spec.split.fold] = cell
    left, right = sides[claim.left], sides[claim.right]
    return [(left[repetition], right[repetition]) for repetition in left if repetition in right]


def _row(claim: Claim, study: Study, cells: Sequence[Cell], results: Mapping[str, Result]) -> Row | None:
    spec = TableSpec("", claim.score, (claim.dataset,), (claim.left, claim.right), against=claim.right)
    rows = fill(study, spec, cells, results).rows
    return next((row for row in rows if row.variant == claim.left), None)


def _decided(one: ClaimVerdict) -> ClaimVerdict:
    if one.verdict != UNDECIDED or one.difference is None:
        return one
    significant = is_significant({"p": one.p, "difference_low": one.low, "difference_high": one.high})
    if not significant:
        return one
    return replace(one, verdict=HOLDS if one.difference > 0 else FAILS)


def _published(claim: Claim, study: Study) -> tuple[float | None, str | None]:
    """The published difference and its model, from the first table with both values."""
    for table in study.tables:
        for source in table.published if table.score == claim.score else ():
            figures = source.figures.get(claim.dataset, {})
            if claim.left in figures and claim.right in figures:
                return round((figures[claim.left] - figures[claim.right]) / table.scale, 9), source.model
    return None, None


def shown(one: ClaimVerdict) -> list[str]:
    """The cells of a row with these `HEADINGS`; differences are of the first variant in the text minus the second."""
    score, sign = one.claim.score, -1 if one.claim.lower else 1
    published = "" if one.published is None else f"{spelled_gain(sign * one.published, score)}, {one.published_model}"
    if one.claim.ours:
        published = "our expectation"
    ours = "" if one.difference is None else spelled_gain(sign * one.difference + 0.0, score)  # never -0.0
    ours = f"so far {ours}" if ours and one.verdict == NOT_RUN else ours
    if one.low is not None and one.high is not None:
        low, high = sorted((sign * one.low, sign * one.high))
        ours += f" [{spelled_interval(low, high, score)}]"
    p = "" if one.p is None else f"{one.p:.3f}" if one.p >= 0.001 else "<0.001"
    verdict = f"{one.verdict} ({one.reason})" if one.reason else one.verdict
    return [one_line(text) for text in (one.claim.text, published, ours, p, f"{one.cells} of {one.planned}", verdict)]
