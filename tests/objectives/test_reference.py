"""The reference values of the specification, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from phasefit.objectives import Cosine, CrossEntropy, SupCon


def mat(n: int, d: int, s: float) -> Tensor:
    i, j = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(d, dtype=torch.float64)
    return torch.sin(s + i * d + j)


E = normalize(mat(6, 4, 1), dim=1)
A, P = mat(3, 4, 1), mat(3, 4, 2.5)


def test_cosine_of_pairs() -> None:
    assert cosine_similarity(A, P).tolist() == pytest.approx([0.286200915, -0.009326972, -0.128179784], abs=1e-8)
    assert float(Cosine().pairs(A, P, torch.tensor([1.0, 0.0, 0.5]))) == pytest.approx(0.301401989, abs=1e-8)


def test_cosine_of_a_batch_is_that_of_its_pairs() -> None:
    y = torch.tensor([0, 0, 1, 1, 2, 2])
    first, second = torch.triu_indices(6, 6, offset=1)
    target = (y[first] == y[second]).double()
    assert float(Cosine()(E, y)) == pytest.approx(float(Cosine().pairs(E[first], E[second], target)), abs=1e-12)


def test_even_gives_every_agreement_the_same_weight() -> None:
    target = torch.tensor([1.0, 0.0, 0.0, 0.0])
    left = torch.tensor([[1.0, 0.0]] * 4, dtype=torch.float64)
    right = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    # Errors: 1 for the alike pair; 1, 1, 0 for the unlike ones.
    assert float(Cosine(even=False).pairs(left, right, target)) == pytest.approx(3 / 4)
    assert float(Cosine(even=True).pairs(left, right, target)) == pytest.approx((1 + 2 / 3) / 2)


def test_even_changes_nothing_where_all_agreements_are_as_common() -> None:
    target = torch.tensor([1.0, 0.0])
    assert float(Cosine(even=True).pairs(A[:2], P[:2], target)) == pytest.approx(
        float(Cosine().pairs(A[:2], P[:2], target))
    )


@pytest.mark.parametrize(("temperature", "expected"), [(0.07, 21.942910034), (0.1, 15.378310021), (0.3, 5.297528970)])
def test_supcon(temperature: float, expected: float) -> None:
    assert float(SupCon(temperature)(E, torch.tensor([0, 0, 1, 1, 2, 2]))) == pytest.approx(expected, abs=1e-8)


def test_supcon_leaves_lone_anchors_out() -> None:
    assert float(SupCon(0.3)(E, torch.tensor([0, 0, 1, 1, 2, 3]))) == pytest.approx(5.110754441, abs=1e-8)


def test_supcon_of_a_tree_with_one_level_is_that_of_classes() -> None:
    y = torch.tensor([0, 0, 1, 1, 2, 2])
    assert torch.equal(SupCon(0.3)(E, y), SupCon(0.3)(E, y[:, None]))


def test_cross_entropy_weighs_classes() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    codes = torch.tensor([0, 1])
    easy, hard = torch.log1p(torch.exp(torch.tensor(-2.0, dtype=torch.float64))), torch.log(torch.tensor(2.0))
    assert float(CrossEntropy()(logits, codes)) == pytest.approx(float((easy + hard) / 2))
    weighted = CrossEntropy()(logits, codes, torch.tensor([1.0, 3.0], dtype=torch.float64))
    assert float(weighted) == pytest.approx(float((easy + 3 * hard) / 4))
