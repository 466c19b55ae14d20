"""Names, bounds and directions; that runs write them is tested with the runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from phasefit.data.labels import LABEL_KINDS
from phasefit.kinds import kind_named, kind_of_metrics
from phasefit.metrics import METRICS, Metric
from phasefit.metrics.registry import added_scores, metric_at, spelled, titles


@pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
def test_an_entry_is_complete(metric: Metric) -> None:
    assert METRICS[metric.name] is metric
    assert metric.title
    assert metric.of
    assert metric.low < metric.high
    assert not metric.watch or metric.higher_is_better is not None


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_the_metrics_named_by_a_kind_belong_to_it(kind: str) -> None:
    labels = kind_named(kind)
    assert {labels.watch, labels.judged} <= set(labels.watchable)
    of = {kind, "levels"} if kind == "score" else {kind, "tree"} if kind == "single" else {kind}
    assert all(of & {*METRICS[name].of} for name in labels.headline if name != "hierarchical_f1")
    assert set(labels.headline) <= set(titles())
    assert kind_of_metrics(dict.fromkeys(labels.headline)).name == ("single" if kind == "tree" else kind)
    assert METRICS[labels.judged].higher_is_better


def test_a_path_leads_to_the_metric_at_its_end() -> None:
    assert metric_at("test.levels.0.accuracy") is METRICS["accuracy"]
    assert metric_at("test.pearson, test.accuracy") is METRICS["pearson"]
    unknown = metric_at("test.of_mine_f1")
    assert (unknown.bounds, unknown.higher_is_better, unknown.title) == ((0, 1), True, "of mine F1")


def test_names_are_spelled_as_people_write_them() -> None:
    assert spelled("level_1_macro_f1") == "level 1 macro F1"
    assert spelled("sst.roc_auc") == "sst ROC AUC"


def test_shares_are_shown_in_per_cent_and_errors_are_not() -> None:
    assert METRICS["r2"].is_share
    assert METRICS["ece"].is_share
    assert not METRICS["mse"].is_share
    assert not METRICS["confidence_entropy"].is_share


def test_added_metrics_are_of_their_kinds() -> None:
    def widest(values: np.ndarray, outputs: np.ndarray) -> float:
        return float(np.abs(values - outputs[:, 0]).max())

    quiet = Metric("widest", "largest error", ("score",), False, high=math.inf, compute=widest)
    values, outputs = np.array([1.0, 2.0]), np.array([[1.5], [4.0]])
    cases: list[dict[str, Any]] = [
        {"groups": ["score"]},
        {"groups": ["score"], "watched": True},
        {"groups": ["single"]},
    ]
    before = [added_scores(values=values, outputs=outputs, **case) for case in cases]  # the built-in ones
    METRICS.add(quiet.name, quiet)
    try:
        after = [added_scores(values=values, outputs=outputs, **case) for case in cases]
        assert after == [{**before[0], "widest": 2.0}, *before[1:]]
        assert "widest" not in kind_named("score").validate(values, outputs)
        assert "widest" in titles()
    finally:
        METRICS.remove(quiet.name)
