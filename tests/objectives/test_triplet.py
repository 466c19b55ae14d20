"""The objective, which does not list triplets, compared with a list of all of them."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives import Triplet, agreement

MARGIN = 0.7
TARGETS = {
    "classes": torch.tensor([0, 0, 1, 1, 2, 2, 1, 0, 3]),
    "tree": torch.tensor([[0, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1], [2, 2]]),
    "several labels": torch.tensor([[True, False], [True, True], [False, True], [False, False]] * 2),
}


def listed(z: Tensor, targets: Tensor) -> list[tuple[int, int, float, float]]:
    """Anchor, positive, and their two squared distances, of every valid triplet."""
    z, agreed = normalize(z, dim=1), agreement(targets)
    square = [[float((one - two).square().sum()) for two in z] for one in z]
    return [
        (a, p, square[a][p], square[a][n]) for a, p, n in permutations(range(len(z)), 3) if agreed[a, p] > agreed[a, n]
    ]


def expected(mining: str, triplets: list[tuple[int, int, float, float]]) -> float:
    if mining == "all":
        chosen = [near - far + MARGIN for _, _, near, far in triplets]
    elif mining == "hard":
        anchors = {a for a, *_ in triplets}
        chosen = [max(near - far + MARGIN for a, _, near, far in triplets if a == anchor) for anchor in anchors]
    else:
        pairs = {(a, p): [] for a, p, *_ in triplets}
        for a, p, near, far in triplets:
            if near < far < near + MARGIN:
                pairs[a, p].append(near - far + MARGIN)
        chosen = [max(some) for some in pairs.values() if some]
    return sum(max(0.0, each) for each in chosen) / max(len(chosen), 1)


@pytest.mark.parametrize("mining", ["all", "hard", "semi-hard"])
@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
def test_it_is_the_mean_over_the_triplets_that_count(mining: str, targets: Tensor) -> None:
    z = torch.randn(len(targets), 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    loss = Triplet(MARGIN, mining)(z, targets)
    assert float(loss) == pytest.approx(expected(mining, listed(z, targets)), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(codes=st.lists(st.integers(0, 3), min_size=3, max_size=9), seed=st.integers(0, 99))
def test_any_mix_of_classes(codes: list[int], seed: int) -> None:
    targets = torch.tensor(codes)
    z = torch.randn(len(codes), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    triplets = listed(z, targets)
    for mining in ("all", "hard", "semi-hard") if triplets else ():
        assert float(Triplet(MARGIN, mining)(z, targets)) == pytest.approx(expected(mining, triplets), abs=1e-9)


def test_random_negatives_are_on_average_all_negatives() -> None:
    z = torch.randn(9, 5, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(3).repeat(3)  # classes of one size: each pair has as many negatives
    torch.manual_seed(0)
    draws = torch.stack([Triplet(MARGIN, "random")(z, targets) for _ in range(300)])
    assert draws.std() > 0
    assert float(draws.mean()) == pytest.approx(float(Triplet(MARGIN)(z, targets)), abs=0.03)


def test_random_negatives_follow_torchs_seed() -> None:
    z, targets = torch.randn(9, 5, generator=torch.Generator().manual_seed(0)), TARGETS["classes"]
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(float(Triplet(MARGIN, "random")(z, targets)))
    assert losses[0] == losses[1] != losses[2]


def test_a_solved_batch_has_zero_loss_without_a_warning() -> None:
    z = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]], requires_grad=True)
    for mining in ("all", "random", "hard", "semi-hard"):
        loss = Triplet(mining=mining)(z, torch.tensor([0, 0, 1, 1]))
        loss.backward()
        assert loss.item() == pytest.approx(0.0, abs=1e-6)
        assert not z.grad.any()


def test_memory_does_not_grow_with_the_cube() -> None:
    z = torch.randn(600, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: _small(kept), lambda kept: kept):
        for mining in ("all", "random", "hard", "semi-hard"):
            Triplet(mining=mining)(z, torch.arange(600) % 6).backward()
    assert torch.isfinite(z.grad).all()


def _small(kept: Tensor) -> Tensor:
    assert kept.numel() <= 600 * 601
    return kept
