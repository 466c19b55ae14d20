from __future__ import annotations

import numpy as np

from phasefit.metrics.label_errors import doubted_labels, doubted_sets


def test_the_rule_of_confident_learning_by_hand() -> None:
    """Means of own probabilities: class 0 (.9 + .8 + .1) / 3 = .6, class 1 (.7 + .7 + .35) / 3 = .58."""
    codes = np.array([0, 0, 0, 1, 1, 1])
    first = np.array([0.9, 0.8, 0.1, 0.3, 0.3, 0.65])
    doubts = doubted_labels(codes, np.stack([first, 1 - first], axis=1))
    # Row 2: own .1 below .6, the other .9 above .58. Row 5: own .35 below .58, the other .65 above .6.
    assert doubts.rows.tolist() == [2, 5]
    assert doubts.better.tolist() == [1, 0]
    np.testing.assert_allclose(doubts.margin, [-0.8, -0.3])


def test_another_class_must_reach_its_own_mean() -> None:
    """Class 1 is usually given .95: a row of class 0 with .6 for it is not suspect."""
    codes = np.array([0, 0, 1, 1])
    first = np.array([0.9, 0.4, 0.05, 0.05])
    assert not len(doubted_labels(codes, np.stack([first, 1 - first], axis=1)).rows)


def test_classes_without_rows_are_never_suggested() -> None:
    likely = np.array([[0.1, 0.0, 0.9], [0.9, 0.0, 0.1], [0.2, 0.8, 0.0]])
    doubts = doubted_labels(np.array([0, 0, 1]), likely)
    assert 2 not in doubts.better
    unknown = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])  # the model does not know the class of the second row
    assert 2 not in doubted_labels(np.array([0, 2]), unknown).better


def test_each_label_of_a_set_is_a_binary_decision() -> None:
    """Label 0: given to rows 0, 1 (means .55 there, and .5 of its absence); row 1 is suspect, and so is row 3."""
    given = np.array([[True], [True], [False], [False]])
    doubts = doubted_sets(given, np.array([[0.9], [0.2], [0.1], [0.9]]))
    assert doubts.rows.tolist() == [3, 1]
    assert doubts.better.tolist() == [0, 0]
    np.testing.assert_allclose(doubts.margin, [-0.8, -0.6])


def test_no_suspect_labels() -> None:
    sure = np.eye(3)
    assert not len(doubted_labels(np.arange(3), sure).rows)
    assert not len(doubted_sets(sure.astype(bool), sure).rows)
    assert not len(doubted_labels(np.zeros(4, dtype=int), np.ones((4, 1))).rows)
