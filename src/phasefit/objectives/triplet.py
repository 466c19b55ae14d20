"""Triplet objective with four ways of mining the triplets of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from phasefit.objectives.agreement import agreement
from phasefit.objectives.contract import Learned, Objective, must_not_be_negative
from phasefit.objectives.distances import squared_distances


class Level(NamedTuple):
    """The valid triplets whose anchor and positive have one value of agreement: (n, n) masks, one row per anchor."""

    positive: Tensor
    negative: Tensor


@dataclass(frozen=True)
class Triplet(Objective):
    """Mean of `max(0, D_ap^2 - D_an^2 + margin)` over triplets (Schroff et al., 2015), vectors normalised.

    A triplet is valid if the anchor agrees more with the positive than with the negative. `mining` selects `all` of
    them; `random`: one negative per anchor and positive; `hard`: the worst triplet of each anchor; or `semi-hard`: for
    each anchor and positive the closest negative that is further away than the positive, if it is within the margin.
    Memory grows with the square of the batch size, not with the cube.
    """

    margin: float = 0.2
    mining: Literal["all", "random", "hard", "semi-hard"] = "all"

    name: ClassVar[str] = "triplet"
    inputs: ClassVar[tuple[str, ...]] = ("labelled",)
    graded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Reject invalid options, even if no recipe checks their types."""
        must_not_be_negative(margin=self.margin)
        if self.mining not in MINING:
            raise ValueError(f"mining must be one of {', '.join(MINING)}, not '{self.mining}'")
        if self.mining == "semi-hard" and not self.margin:
            raise ValueError("mining = 'semi-hard' needs a margin greater than 0")

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Every text of the batch is an anchor."""
        levels = list(_levels(agreement(targets)))
        if not levels:
            return self._nothing("no text has both a positive and a negative", embeddings)
        losses, count = MINING[self.mining](squared_distances(embeddings, embeddings), levels, self.margin)
        return losses / max(count, 1)


def _levels(agreements: Tensor) -> Iterator[Level]:
    others = ~torch.eye(len(agreements), dtype=torch.bool, device=agreements.device)
    for value in agreements[others].unique():
        negative = (agreements < value) & others
        positive = (agreements == value) & others & negative.any(1, keepdim=True)
        if positive.any():
            yield Level(positive, negative)


def _all(distances: Tensor, levels: list[Level], margin: float) -> tuple[Tensor, int]:
    """Sum all hinge losses of a pair from sorted negatives and their cumulative sums, without listing triplets."""
    total, count = distances.new_zeros(()), 0
    for positive, negative in levels:
        ordered, place = distances.detach().masked_fill(~negative, float("inf")).sort(1)
        sorted_distances = distances.masked_fill(~negative, 0.0).gather(1, place)
        sums = torch.cat([distances.new_zeros(len(distances), 1), sorted_distances.cumsum(1)], 1)
        reach = distances + margin
        inside = torch.searchsorted(ordered, reach.detach())
        total = total + (inside * reach - sums.gather(1, inside))[positive].sum()
        count += int((positive.sum(1) * negative.sum(1)).sum())
    return total, count


def _random(distances: Tensor, levels: list[Level], margin: float) -> tuple[Tensor, int]:
    total, count = distances.new_zeros(()), 0
    for positive, negative in levels:
        anchor = positive.any(1)
        rows, positives = distances[anchor], positive[anchor]
        drawn = torch.multinomial(negative[anchor].float(), len(distances), replacement=True)
        total = total + (rows - rows.gather(1, drawn) + margin)[positives].clamp(min=0).sum()
        count += int(positives.sum())
    return total, count


def _hard(distances: Tensor, levels: list[Level], margin: float) -> tuple[Tensor, int]:
    worst = []
    for positive, negative in levels:
        farthest = distances.masked_fill(~positive, float("-inf")).amax(1)
        closest = distances.masked_fill(~negative, float("inf")).amin(1)
        worst.append(farthest - closest)
    gap = torch.stack(worst).amax(0)
    gap = gap[gap > float("-inf")]
    return (gap + margin).clamp(min=0).sum(), len(gap)


def _semi_hard(distances: Tensor, levels: list[Level], margin: float) -> tuple[Tensor, int]:
    total, count = distances.new_zeros(()), 0
    for positive, negative in levels:
        ordered, place = distances.detach().masked_fill(~negative, float("inf")).sort(1)
        beyond = torch.searchsorted(ordered, distances.detach(), right=True).clamp(max=len(distances) - 1)
        closest = distances.gather(1, place.gather(1, beyond))
        gap = closest - distances
        counted = positive & (ordered.gather(1, beyond) < float("inf")) & (gap > 0) & (gap < margin)
        total = total + (margin - gap)[counted].sum()
        count += int(counted.sum())
    return total, count


MINING = {"all": _all, "random": _random, "hard": _hard, "semi-hard": _semi_hard}
