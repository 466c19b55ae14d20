from __future__ import annotations

import pytest
import torch

from phasefit.objectives import agreement, pair_agreement


def test_classes_agree_or_not() -> None:
    expected = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    assert torch.equal(agreement(torch.tensor([4, 7, 4])), expected)


def test_trees_count_leading_levels() -> None:
    paths = torch.tensor([[0, 0], [0, 1], [1, 1], [0, 0]])
    row = agreement(paths)[0]
    assert row.tolist() == [1.0, 0.5, 0.0, 1.0]


def test_an_equal_child_under_another_parent_does_not_count() -> None:
    assert float(pair_agreement(torch.tensor([0, 5]), torch.tensor([1, 5]))) == 0.0


def test_three_levels() -> None:
    paths = torch.tensor([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]])
    assert agreement(paths)[0].tolist() == pytest.approx([1, 2 / 3, 1 / 3, 0])


def test_several_labels_by_jaccard() -> None:
    sets = torch.tensor([[True, True, False], [True, False, False], [False, False, True], [False, False, False]])
    assert agreement(sets)[0].tolist() == pytest.approx([1, 0.5, 0, 0])
    assert float(agreement(sets)[3, 3]) == 0.0, "two empty sets have nothing in common"


def test_it_is_symmetric() -> None:
    paths = torch.randint(0, 3, (12, 3), generator=torch.Generator().manual_seed(0))
    assert torch.equal(agreement(paths), agreement(paths).T)
