"""What runs of a study can be compared by."""

from __future__ import annotations

import re

import pytest

from phasefit.errors import DataError
from phasefit.metrics import METRICS
from phasefit.metrics.registry import comparable_names
from phasefit.studies.checks import check_pair_scores, check_score
from phasefit.studies.study import Data, Study, Variant


@pytest.mark.parametrize(
    "path",
    [
        "test.accuracy_answered",
        "test.samples_f1",
        "validation.levels.0.macro_f1",
        "test.tasks.sst.accuracy",
        "test.per_class.joy.f1",
        "test.mean",
        None,
    ],
)
def test_metrics_of_metrics_json_are_accepted(path: str | None) -> None:
    check_score(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("test.answered_accuracy", "test.NAME or validation.NAME; did you mean 'answered'"),
        ("train.accuracy", "unknown score 'train.accuracy': write it as test.NAME"),
        ("ece", "for example test.ece"),
        ("test.labels_per_text", "unknown score 'test.labels_per_text': write it as"),
        ("test.silhouette", "unknown score 'test.silhouette': write it as"),
        ("test.probe", "unknown score 'test.probe': write it as"),
    ],
)
def test_unknown_metrics_and_those_without_a_direction_are_refused(path: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        check_score(path)


def test_every_comparable_name_is_accepted_and_has_a_direction() -> None:
    for name in comparable_names():
        check_score(f"test.{name}")
        assert METRICS[name].higher_is_better is not None
    assert {"accuracy", "micro_f1", "pearson", "quadratic_kappa", "mean", "ece", "f1"} <= set(comparable_names())


def test_scores_that_no_encoder_on_pairs_has_are_refused_before_training() -> None:
    pairs = Data("STS-B", {"data": "stsb"}, pairs="stsb")
    cells = Study("s", "S", datasets=(pairs,), variants=(Variant("before", "untrained"),), seeds=(0,)).cells()
    check_pair_scores("test.pearson", cells)
    check_pair_scores("test.accuracy", [])
    with pytest.raises(DataError, match=r"^test\.accuracy: encoders are scored on pairs by test\.spearman and"):
        check_pair_scores("test.accuracy", cells)
