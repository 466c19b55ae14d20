"""`sample_weight` of the estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import cross_val_score

from phasefit import DataError, RecipeError, TextClassifier, TextEncoder, TextRegressor
from phasefit.data.table import Table, content_hash
from phasefit.data.table_reading import Lists
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import prepare
from phasefit.prepare.specification import DataSpec, SplitSpec
from tiny import make_table, same, weights

TEXTS, LABELS = make_table(48)
STEPS = {"finetune.max_steps": 4, "finetune.min_steps": 1, "finetune.lr": 2e-3, "finetune.batch_size": 16}
HEAVY = np.where(np.array(LABELS) == "music", 20.0, 1.0)


@pytest.fixture
def make(tiny_folder: Path):
    def make(estimator: type = TextClassifier, **options: Any) -> Any:
        return estimator(**{"recipe": "finetune", "model": str(tiny_folder), "settings": STEPS, **options})

    return make


def test_equal_weights_give_the_same_bits_as_none(make) -> None:
    plain, equal = make().fit(TEXTS, LABELS), make().fit(TEXTS, LABELS, sample_weight=np.full(48, 3.7))
    assert same(weights(plain.model_), weights(equal.model_))


def test_a_heavy_class_is_predicted_more_often(make) -> None:
    longer = {**STEPS, "finetune.max_steps": 15}
    options = {"settings": longer, "calibrate": False, "validation_size": 0.0}
    plain = make(**options).fit(TEXTS, LABELS).predict_proba(TEXTS)[:, 1]
    heavy = make(**options).fit(TEXTS, LABELS, HEAVY).predict_proba(TEXTS)[:, 1]
    assert heavy.mean() > plain.mean() + 0.05


def test_rows_of_weight_zero_teach_nothing(make) -> None:
    wrong = [*LABELS[:-6], *["music"] * 6]
    zero = np.array([1.0] * 41 + [2.0] + [0.0] * 6)
    options = {"settings": {**STEPS, "finetune.dropout": 0.0}, "validation_size": 0.0, "calibrate": False}
    one, other = (make(**options).fit(TEXTS, labels, zero) for labels in (LABELS, wrong))
    assert same(weights(one.model_), weights(other.model_)), "their labels do not matter"


def test_only_the_ratios_of_weights_matter(make) -> None:
    one = make(seed=1).fit(TEXTS, LABELS, sample_weight=HEAVY)
    other = make(seed=1).fit(TEXTS, LABELS, sample_weight=pd.Series(4 * HEAVY))
    assert same(weights(one.model_), weights(other.model_))


def test_scores_and_encoders_use_weights_too(make) -> None:
    scores = [float(len(text)) for text in TEXTS]
    plain, heavy = (make(TextRegressor).fit(TEXTS, scores, given) for given in (None, HEAVY))
    assert not same(weights(plain.model_), weights(heavy.model_))
    options = {"recipe": "simcse", "settings": {"simcse.max_steps": 2}}
    plain, heavy = (make(TextEncoder, **options).fit(TEXTS, sample_weight=given) for given in (None, HEAVY))
    assert not same(weights(plain.model_), weights(heavy.model_))


def test_cross_validation_passes_the_weights_of_each_fold(make) -> None:
    scores = cross_val_score(make(), TEXTS, LABELS, cv=2, params={"sample_weight": HEAVY}, error_score="raise")
    assert len(scores) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0] * 3, "one number per row: 48 rows, but 3"),
        (np.ones((48, 2)), r"48 rows, but an array of shape \(48, 2\)"),
        ([1.0] * 47 + [-1.0], "sample_weight of row 48 is -1"),
        ([float("nan")] + [1.0] * 47, "sample_weight of row 1 is nan"),
        (["heavy"] * 48, "must be a list of numbers"),
        ([0] * 48, "every sample_weight is 0"),
    ],
)
def test_bad_weights_are_refused(make, given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make().fit(TEXTS, LABELS, sample_weight=given)


def test_an_objective_that_ignores_weights_is_refused_before_training(make) -> None:
    events: list[Any] = []
    settings = {"finetune.objective": "triplet"}
    with pytest.raises(RecipeError, match="finetune: objective 'triplet' does not support sample_weight"):
        make(settings=settings, listener=events.append).fit(TEXTS, LABELS, HEAVY)


def test_weights_follow_their_rows_through_splits_and_merging() -> None:
    numbers = np.arange(48.0)
    prepared = prepare(DataSpec(Lists(TEXTS, LABELS, numbers)), SplitSpec(validation_size=0.25, test_size=0.0))
    place = {text: number for number, text in enumerate(TEXTS)}
    for table in (prepared.train, prepared.validation, merged(prepared).train):
        assert table is not None
        assert table.weights is not None
        assert [place[text] for text in table.texts] == table.weights.tolist()


def test_weights_are_part_of_the_hash_and_of_both_sides_of_a_pair() -> None:
    plain = Table("t", ["a", "b"], others=(["c", "d"],))
    heavy = Table("t", ["a", "b"], others=(["c", "d"],), weights=np.array([1.0, 2.0]))
    assert content_hash([plain]) != content_hash([heavy])
    flat = heavy.flat().weights
    assert flat is not None
    assert flat.tolist() == [1, 1, 2, 2]


def test_the_dtype_of_weights_does_not_change_the_loss() -> None:
    from phasefit.objectives.contract import weighted_mean

    half = torch.ones(3, dtype=torch.float16)
    assert weighted_mean(half, torch.tensor([1.0, 2.0, 3.0])).dtype == torch.float16
