"""Finding the pairs that belong together by their labels."""

from __future__ import annotations

from typing import Any

import pytest

from phasefit.data.positives import is_positive, positive_names, positives_of
from phasefit.data.table import Table


def table(*labels: Any) -> Table:
    texts = [f"text {row}" for row in range(len(labels))]
    return Table("pairs", texts, list(labels), others=(texts,))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["yes", "no"], {"yes"}),
        (["Entailment", "neutral", "contradiction"], {"entailment"}),
        ([1, 0], {"1"}),
        (["1", "-1"], {"1"}),
        ([True, False], {"true"}),
        (["duplicate", "not duplicate"], {"duplicate"}),
        (["match", "no-match"], {"match"}),
        (["yes"], set()),
        (["no"], set()),
        (["yes", "no", "perhaps"], set()),
        (["cats", "dogs"], set()),
        ([1, 0, 2], set()),
    ],
)
def test_names_that_mean_yes_next_to_names_that_mean_no(labels: list[Any], names: set[str]) -> None:
    assert positive_names(labels) == names


def test_labels_ignore_case_and_spaces() -> None:
    assert all(map(is_positive, ("YES", " Duplicate ", 1, True)))
    assert not any(map(is_positive, ("no", "-1", -1, 0, False, "yes and no")))


def test_the_rule_of_train_applies_to_tables_that_have_none() -> None:
    which = positives_of(table("yes", "no", "no"))
    assert which is not None
    assert which.how == "label 'yes'"
    assert which.rows(table("Yes", "yes", "no")).tolist() == [0, 1]
    assert which.rows(table("yes", "yes")).tolist() == [0, 1]
    assert which.rows(table("no", "no")).tolist() == []


def test_high_scores_depend_on_the_range_of_train() -> None:
    which = positives_of(table(0.0, 5.0, 3.49, 3.5))
    assert which is not None
    assert which.how == "score of at least 3.5"
    assert which.rows(table(3.4, 3.5, 4.9)).tolist() == [1, 2]
    assert which.rows(table(0.5, 1.5)).tolist() == []
    below = positives_of(table(-1.0, 1.0))
    assert below is not None
    assert below.least == pytest.approx(0.4)


@pytest.mark.parametrize("labels", [["cats", "dogs"], [frozenset("a"), frozenset("ab")], [("a", "b"), ("a", "c")]])
def test_labels_that_do_not_mark_positives(labels: list[Any]) -> None:
    assert positives_of(table(*labels)) is None


def test_a_table_without_labels_has_no_rule() -> None:
    assert positives_of(Table("pairs", ["a"], others=(["b"],))) is None
