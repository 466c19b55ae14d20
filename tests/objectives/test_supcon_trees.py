"""SupCon on trees: the loss of whole paths combined with that of each level above."""

from __future__ import annotations

import pytest
import torch

from phasefit.objectives import OBJECTIVES

PATHS = torch.tensor([[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]])


def vectors(n: int) -> torch.Tensor:
    return torch.sin(1.0 + torch.arange(4 * n, dtype=torch.float64)).reshape(n, 4)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_it_is_the_weighted_mean_of_the_levels(share: float) -> None:
    z = vectors(8)
    plain, of_trees = OBJECTIVES["supcon"](), OBJECTIVES["supcon"](upper_levels=share)
    leaves, tops = plain(z, PATHS[:, 0] * 2 + PATHS[:, 1]), plain(z, PATHS[:, 0])
    torch.testing.assert_close(of_trees(z, PATHS), (1 - share) * leaves + share * tops)


def test_upper_levels_have_equal_shares() -> None:
    z, paths = vectors(8), torch.cat([PATHS, PATHS[:, 1:] * 0], dim=1)  # the last level repeats the second
    plain = OBJECTIVES["supcon"]()
    leaves, tops = plain(z, PATHS[:, 0] * 2 + PATHS[:, 1]), plain(z, PATHS[:, 0])
    torch.testing.assert_close(OBJECTIVES["supcon"](upper_levels=0.4)(z, paths), 0.8 * leaves + 0.2 * tops)


def test_a_text_alone_on_its_path_still_has_siblings() -> None:
    z = vectors(3)
    paths = torch.tensor([[0, 0], [0, 1], [1, 0]])
    tops = OBJECTIVES["supcon"]()(z, paths[:, 0])
    torch.testing.assert_close(OBJECTIVES["supcon"](upper_levels=0.2)(z, paths), tops)
