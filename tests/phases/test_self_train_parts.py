"""The parts of self-training: segments, folds, pseudo-labels and the guard."""

from __future__ import annotations

import numpy as np
import pytest

from phasefit.phases.pseudo_labels import calibrated, evenly_repeated, log_probabilities, most_confident
from phasefit.phases.self_train.guard import HeldOut, gain, helps
from phasefit.phases.self_train.segments import WHOLE, assign_folds, segments


def test_folds_come_before_the_whole_in_all_rounds_but_the_first() -> None:
    parts = segments(60, rounds=1, folds=2, stretch=3)
    assert [(part.round, part.model, part.first, part.last) for part in parts] == [
        (0, WHOLE, 1, 5),
        (0, 1, 6, 10),
        (0, 2, 11, 15),
        (1, 1, 16, 30),
        (1, 2, 31, 45),
        (1, WHOLE, 46, 60),
    ]


@pytest.mark.parametrize("total", [1, 2, 7, 13, 61])
def test_segments_cover_all_steps(total: int) -> None:
    parts = segments(total, rounds=2, folds=3, stretch=2)
    assert (parts[0].round, parts[0].model, parts[0].first) == (0, WHOLE, 1)
    assert [part.first for part in parts[1:]] == [part.last + 1 for part in parts[:-1]]
    assert parts[-1].last == total


def test_without_rounds_there_is_one_segment() -> None:
    assert [(part.model, part.last) for part in segments(9, rounds=0, folds=3, stretch=2)] == [(WHOLE, 9)]


def test_folds_hold_out_every_row_once_and_classes_evenly() -> None:
    codes = np.repeat([0, 1, 2, 3], [6, 4, 2, 1])
    folds = assign_folds(codes, 3, seed=0)
    assert folds[codes == 3].tolist() == [0], "the only row of its class is never held out"
    assert np.bincount(folds[codes == 0], minlength=4).tolist() == [0, 2, 2, 2]
    assert np.bincount(folds[folds > 0]).tolist() == [0, 4, 4, 4]


def test_pseudo_labels_are_balanced_and_the_most_confident() -> None:
    top = np.array([0.9, 0.8, 0.7, 0.6, 0.55, 0.5])
    probabilities = np.concatenate([np.column_stack([top, 1 - top]), np.column_stack([1 - top, top])[:2]])
    positions, codes = most_confident(probabilities, keep=0.5)
    assert sorted(zip(positions.tolist(), codes.tolist(), strict=True)) == [(0, 0), (1, 0), (6, 1), (7, 1)]


def test_no_class_gets_four_times_as_many_as_the_smallest() -> None:
    predicted = np.array([0] * 40 + [1] * 2)
    probabilities = calibrated(5.0 * np.eye(3)[predicted], 1.0)
    _, codes = most_confident(probabilities, keep=1.0)
    assert np.bincount(codes).tolist() == [8, 2], "a class that is never predicted has none"
    repeated = codes[evenly_repeated(codes)]
    assert np.bincount(repeated).tolist() == [8, 8]


def test_a_class_that_is_hardly_ever_predicted_does_not_limit_the_others() -> None:
    predicted = np.append(np.arange(999) % 19, 19)
    _, codes = most_confident(calibrated(5.0 * np.eye(20)[predicted], 1.0), keep=0.5)
    assert np.bincount(codes).tolist() == [4] * 19 + [1]


def test_log_probabilities_of_a_class_without_rows_are_low() -> None:
    labelled = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    logs = log_probabilities(labelled, np.array([0, 0, 2, 2]), np.array([[2.0, 0.2], [0.1, 3.0]]), 3)
    assert logs.argmax(axis=1).tolist() == [0, 2]
    assert (logs[:, 1] == -30).all()


def test_a_temperature_changes_confidence_but_not_the_class() -> None:
    logs = np.log([[0.8, 0.2]])
    assert calibrated(logs, 1.0)[0] == pytest.approx([0.8, 0.2])
    assert calibrated(logs, 2.0)[0] == pytest.approx([2 / 3, 1 / 3])  # square roots: 4 to 1 becomes 2 to 1


def held_out(*right: int) -> HeldOut:
    return HeldOut(np.array(right, dtype=bool), log_loss=1.0)


def test_a_round_must_not_lower_the_accuracy_by_more_than_its_noise() -> None:
    before, after = held_out(1, 1, 0, 1, 0, 0), held_out(1, 0, 1, 0, 0, 0)
    higher, error = gain(before, after)
    differences = np.array([0, -1, 1, -1, 0, 0])
    assert higher == pytest.approx(differences.mean())
    assert error == pytest.approx(differences.std(ddof=1) / np.sqrt(6))
    assert not helps(before, after, 0.0)
    assert helps(before, after, 1.0)
    assert helps(after, before, 0.0)
    assert helps(before, before, 0.0), "the pseudo-labels are right more often than a few rows can show"


@pytest.mark.parametrize("rows", [10, 11, 16, 20, 24, 30, 36, 48, 100])
def test_one_row_less_is_within_one_standard_error(rows: int) -> None:
    before, after = held_out(*[1] * rows), held_out(*[1] * (rows - 1), 0)
    assert helps(before, after, 1.0)
    assert not helps(before, after, 0.9)


def test_the_log_loss_does_not_depend_on_confidence() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 200)
    logs = np.log(calibrated(np.eye(3)[codes] + random.normal(size=(200, 3)), 1.0))
    one, other = HeldOut.of(logs, codes), HeldOut.of(3 * logs, codes)
    assert one.accuracy == other.accuracy == (logs.argmax(axis=1) == codes).mean()
    assert one.log_loss == pytest.approx(other.log_loss, abs=0.01)
