"""Decisions about several labels per text: a threshold for each, and a temperature for all."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import torch

from phasefit.data.labels import MultiLabels, ScoreLabels, label_space
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision

THRESHOLDS = (0.3, 0.5, 0.9)
SPACE = label_space([frozenset({"a", "b"}), frozenset({"c"}), frozenset()])


@pytest.fixture
def logits() -> torch.Tensor:
    return 3 * torch.randn(9, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("decision", [Decision(1.7, 0.0, THRESHOLDS), Decision(thresholds=(0.0, 1.0)), Decision()])
def test_json_and_back(decision: Decision) -> None:
    written = json.loads(json.dumps(decision.to_json()))
    assert Decision.from_json(written) == decision
    assert ("thresholds" in written) == bool(decision.thresholds), "only where there are some"


@pytest.mark.parametrize("damaged", [[1.5], [0.5, -0.1], [float("nan")]])
def test_invalid_values_are_rejected(damaged: list[float]) -> None:
    with pytest.raises(ValueError, match="the temperature must be greater than 0 and thresholds"):
        Decision.from_json({"thresholds": damaged})


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
def test_each_label_is_scaled_separately(logits: torch.Tensor, temperature: float) -> None:
    own = logits.sigmoid().numpy()
    decision = Decision(temperature, thresholds=THRESHOLDS)
    calibrated = decision.calibrated(own)
    assert calibrated == pytest.approx((logits / temperature).sigmoid().numpy())
    assert decision.uncalibrated(calibrated) == pytest.approx(own)


@pytest.mark.parametrize("temperature", [0.4, 2.5])
def test_certainty_stays_certain_without_a_warning(temperature: float) -> None:
    own = np.array([[0.0, 1.0, 1e-300], [1 - 1e-16, 0.5, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrated = Decision(temperature, thresholds=THRESHOLDS).calibrated(own)
    assert np.isfinite(calibrated).all()
    assert (calibrated >= 0).all()
    assert (calibrated <= 1).all()
    assert calibrated[1, 1] == pytest.approx(0.5)
    assert calibrated[0, 0] < 1e-6 < 1 - 1e-6 < calibrated[0, 1]


def test_float32_is_scaled_in_double_precision(logits: torch.Tensor) -> None:
    own = logits.float().sigmoid().numpy()
    assert Decision(2.0, thresholds=THRESHOLDS).calibrated(own) == pytest.approx((logits / 2).sigmoid(), abs=1e-5)


def test_a_label_needs_its_threshold() -> None:
    probabilities = np.array([[0.3, 0.49, 0.95], [0.29, 0.5, 0.89], [0.0, 0.0, 0.0]])
    assert Decision(thresholds=THRESHOLDS).chosen(probabilities).tolist() == [
        [True, False, True],
        [False, True, False],
        [False, False, False],
    ]
    assert Decision().chosen(probabilities).tolist() == [
        [False, False, True],
        [False, True, True],
        [False, False, False],
    ]
    assert Decision(thresholds=THRESHOLDS).chosen(np.empty((0, 3))).shape == (0, 3)


# --- from logits to answers -------------------------------------------------------------------------------------------


def test_several_labels_are_predicted_as_sets(logits: torch.Tensor) -> None:
    assert isinstance(SPACE, MultiLabels)
    own, decision = kind_of(SPACE).outputs(logits, SPACE), Decision(thresholds=THRESHOLDS)
    assert own == pytest.approx(logits.sigmoid().numpy())
    expected = [frozenset(np.array(["a", "b", "c"])[row].tolist()) for row in own >= np.array(THRESHOLDS)]
    assert kind_of(SPACE).answers(own, SPACE, decision) == expected
    assert kind_of(SPACE).answers(np.array([[0.1, 0.2, 0.3]]), SPACE, decision) == [frozenset()]


def test_one_class_may_be_withheld() -> None:
    space = label_space(["no", "yes"])
    own = kind_of(space).outputs(torch.tensor([[0.0, 0.1], [0.0, 5.0]]), space)
    assert own.sum(axis=1) == pytest.approx([1, 1])
    assert kind_of(space).answers(own, space, Decision(reject_below=0.8)) == [None, "yes"]
    assert kind_of(space).answers(np.empty((0, 2)), space, Decision()) == []


def test_scores_are_in_their_original_unit() -> None:
    space = ScoreLabels.of([0.0, 10.0])
    outputs = kind_of(space).outputs(torch.tensor([[0.0], [1.0], [-2.0]]), space)
    assert outputs.tolist() == [[5.0], [10.0], [-5.0]]
    assert kind_of(space).answers(outputs, space, Decision()) == [5.0, 10.0, -5.0]


def test_levels_are_predicted_by_name() -> None:
    space = ScoreLabels.of([0, 1, 2], levels=["bad", "fair", "good"])
    outputs = np.array([[-3.0], [0.4], [1.2], [9.0]])
    assert kind_of(space).answers(outputs, space, Decision()) == ["bad", "bad", "fair", "good"]
