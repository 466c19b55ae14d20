"""Temperature and threshold: from the outputs of a head to predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from phasefit.kinds.decision import ABSTAINED, Decision, tempered


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_probabilities_are_those_of_tempered_logits(temperature: float) -> None:
    logits = torch.randn(7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    own = logits.softmax(dim=1).numpy()
    decision = Decision(temperature)
    calibrated = decision.calibrated(own)
    assert calibrated == pytest.approx((logits / temperature).softmax(dim=1).numpy())
    assert decision.uncalibrated(calibrated) == pytest.approx(own)
    assert (calibrated.argmax(axis=1) == own.argmax(axis=1)).all()


def test_a_probability_of_zero_stays_zero() -> None:
    assert tempered(np.array([[0.0, 0.2, 0.8], [1.0, 0.0, 0.0]]), 3.0)[[0, 1, 1], [0, 1, 2]].tolist() == [0, 0, 0]


def test_answers_below_the_threshold_are_withheld() -> None:
    probabilities = np.array([[0.5, 0.5], [0.3, 0.7], [0.8, 0.2]])
    assert Decision(reject_below=0.7).answers(probabilities).tolist() == [ABSTAINED, 1, 0]
    assert Decision().answers(probabilities).tolist() == [0, 1, 0]
    assert Decision().answers(np.empty((0, 2))).tolist() == []


@pytest.mark.parametrize(
    "damaged", [{"temperature": 0}, {"temperature": float("nan")}, {"temperature": 1e-320}, {"reject_below": 2}]
)
def test_invalid_values_are_rejected(damaged: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="the temperature must be greater than 0 and thresholds"):
        Decision.from_json(damaged)


@pytest.mark.parametrize("damaged", [None, [], 3, {"temperature": "1"}, {"temperature": 10**400}, {"thresholds": 0.5}])
def test_wrong_types_are_rejected(damaged: Any) -> None:
    with pytest.raises(ValueError, match="should be"):
        Decision.from_json(damaged)


def test_json_and_back() -> None:
    assert Decision.from_json(Decision(1.7, 0.4).to_json()) == Decision(1.7, 0.4)
