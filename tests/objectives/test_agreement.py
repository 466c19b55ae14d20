from __future__ import annotations

import pytest
import torch

from phasefit.objectives import SupCon, agreement, pair_agreement


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


def test_probabilities_agree_as_often_as_both_have_the_same_class() -> None:
    shares = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    assert agreement(shares)[0].tolist() == pytest.approx([0.5, 0.25, 0])


def test_supcon_of_certain_probabilities_is_that_of_classes() -> None:
    vectors = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    codes = torch.tensor([0, 1, 2, 0, 1, 0])
    certain = torch.nn.functional.one_hot(codes, 3).double()
    assert float(SupCon()(vectors, certain)) == pytest.approx(float(SupCon()(vectors, codes)))
