"""Solved heads predict what scikit-learn predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from phasefit.data.labels import label_space
from phasefit.models.heads import Head
from phasefit.models.solved_head import solve_head

CODES = np.arange(60) % 3
SPACE = label_space(list("abc"))


def vectors(sides: int = 1) -> torch.Tensor:
    torch.manual_seed(0)
    centres = torch.randn(3, sides * 8)
    return (3 * (centres[CODES] + torch.randn(60, sides * 8))).float()


def probabilities(head: Head, of: torch.Tensor, **options: Any) -> np.ndarray:
    solution = solve_head(head, of, SPACE, CODES, seed=0, **options)
    head.set_output(solution.weight, solution.bias)
    with torch.no_grad():
        return np.asarray(head.eval()(of).double().softmax(dim=1))


def expected(features: np.ndarray, C: float, **options: Any) -> np.ndarray:
    fitted = LogisticRegression(C=C, max_iter=1000, **options).fit(features, CODES)
    return np.asarray(fitted.predict_proba(features))


def test_a_linear_head_reads_vectors_of_mean_length_1() -> None:
    of = vectors()
    scaled = of.double().numpy() / of.double().norm(dim=1).mean().item()
    assert probabilities(Head("linear", 8, 3), of, C=3.0) == pytest.approx(expected(scaled, 3.0), abs=1e-4)


def test_a_cosine_head_reads_unit_vectors() -> None:
    of = vectors()
    unit = torch.nn.functional.normalize(of.double(), dim=1).numpy()
    assert probabilities(Head("cosine", 8, 3), of, C=30.0) == pytest.approx(expected(unit, 30.0), abs=1e-4)


@pytest.mark.parametrize("pair", ["uv", "uv_diff_prod"])
def test_pairs_have_joined_vectors(pair: Any) -> None:
    of = vectors(sides=2)
    left, right = (
        side.double().numpy() / of.double().reshape(-1, 8).norm(dim=1).mean().item() for side in of.chunk(2, 1)
    )
    more = [abs(left - right), left * right] if pair == "uv_diff_prod" else []
    features = np.hstack([left, right, *more])
    head = Head("linear", 8, 3, pair=pair)
    assert probabilities(head, of, C=3.0) == pytest.approx(expected(features, 3.0), abs=1e-4)


def test_the_cosine_of_a_pair_is_one_feature() -> None:
    of = vectors(sides=2)
    left, right = of.double().chunk(2, 1)
    cosine = torch.cosine_similarity(left, right)[:, None].numpy()
    head = Head("linear", 8, 3, pair="cosine")
    assert probabilities(head, of, C=3.0) == pytest.approx(expected(cosine, 3.0), abs=1e-4)


def test_balanced_classes_are_those_of_scikit_learn() -> None:
    of = vectors()
    unit = torch.nn.functional.normalize(of.double(), dim=1).numpy()
    wanted = expected(unit, 3.0, class_weight={0: 1.0, 1: 4.0, 2: 0.5})
    shares = np.array([1.0, 4.0, 0.5])
    assert probabilities(Head("cosine", 8, 3), of, C=3.0, class_weights=shares) == pytest.approx(wanted, abs=1e-4)


def test_without_a_penalty_cross_validation_chooses_it() -> None:
    head = Head("cosine", 8, 3)
    solution = solve_head(head, vectors(), SPACE, CODES, seed=0)
    assert solution.C is not None
    assert solution.losses[solution.C] == min(solution.losses.values())
    assert solve_head(head, vectors(), SPACE, CODES, seed=0, C=solution.C).weight.tobytes() == solution.weight.tobytes()
