"""From a specification to rows, before anything is trained."""

from __future__ import annotations

import pytest

from phasefit.errors import DataError
from phasefit.prepare.merge import merged
from specs import prepare, run_spec
from tiny import make_table


def prepared(rows: int = 60, **options):
    return prepare(run_spec(make_table(rows), **options))


def test_splits_are_disjoint_and_complete() -> None:
    data = prepared(100)
    parts = [data.train, data.validation, data.test]
    assert [len(part) for part in parts] == [70, 20, 10]
    assert sorted(text for part in parts for text in part.texts) == sorted(make_table(100)[0])
    assert len(merged(data).train) == 100
    assert merged(data).test is None


def test_the_split_follows_the_seed() -> None:
    first, again, other = (prepared(seed=seed).test.texts for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_every_split_has_all_classes() -> None:
    data = prepared(60)
    for part in (data.train, data.validation, data.test):
        assert set(part.labels) == {"music", "weather", "food"}


def test_the_hash_is_of_the_content() -> None:
    assert prepared().sha256 == prepared(seed=3).sha256
    assert prepared().sha256 != prepared(61).sha256


def test_too_few_rows_to_split() -> None:
    with pytest.raises(DataError, match="no validation rows can be split off"):
        prepare(run_spec((["a b", "c d"], ["x", "y"])))


def test_facts() -> None:
    facts = prepared().facts()
    assert facts["classes"] == 3
    assert facts["kind"] == "single"
    assert facts["imbalance"] == 1.0
