"""The regularisation of linear models, compared with scikit-learn's own cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, cross_val_score

from phasefit.data.labels import label_space
from phasefit.kinds import kind_named
from phasefit.models.linear import LinearRows
from phasefit.models.regularisation import GRID, MOST_ROWS, USUAL, choose_regularisation, fold_numbers
from phasefit.seeds import generator


def noisy_rows(count: int = 90, classes: int = 3, noise: float = 1.5) -> LinearRows:
    random = np.random.default_rng(0)
    codes = np.arange(count) % classes
    features = np.eye(20)[codes] + noise * random.normal(size=(count, 20))
    return LinearRows(features, label_space([str(code) for code in range(classes)]), codes)


def test_the_errors_are_those_of_scikit_learn() -> None:
    rows = noisy_rows()
    chosen, losses = choose_regularisation(rows, seed=3)
    folds = PredefinedSplit(fold_numbers(rows, generator(3, "regularisation")))
    for C in GRID:
        model = LogisticRegression(C=C, max_iter=100, random_state=3)
        accuracies = cross_val_score(model, rows.features, rows.values, cv=folds)
        sizes = [len(test) for _, test in folds.split()]
        assert losses[C] == pytest.approx(1 - np.average(accuracies, weights=sizes), abs=0.012)
    assert losses[chosen] == min(losses.values())


def test_scores_use_the_squared_error_of_ridge_regression() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(60, 10))
    targets = features[:, 0] + random.normal(size=60)
    space = label_space(targets.tolist())
    rows = LinearRows(features, space, targets)
    chosen, losses = choose_regularisation(rows, seed=0)
    folds = PredefinedSplit(fold_numbers(rows, generator(0, "regularisation")))
    for C in GRID:
        errors = -cross_val_score(
            Ridge(alpha=1 / C), features, rows.standard, cv=folds, scoring="neg_mean_squared_error"
        )
        assert losses[C] == pytest.approx(errors.mean(), rel=1e-5)
    assert losses[chosen] == min(losses.values())


def test_sets_of_labels_are_compared_too() -> None:
    rows = noisy_rows()
    labels = [frozenset({"a"} | ({"b"} if code else set())) for code in rows.values]
    space = kind_named("multi").build(labels)
    chosen, losses = choose_regularisation(LinearRows(rows.features, space, space.values(labels)), seed=0)
    assert losses[chosen] == min(losses.values())
    assert len(set(losses.values())) == len(GRID)


def test_every_class_is_in_the_fitted_part_of_every_fold() -> None:
    codes = np.array([0] * 9 + [1] * 2 + [2] + [3] * 5)
    rows = LinearRows(np.zeros((17, 2)), label_space(list("abcd")), codes)
    folds = fold_numbers(rows, np.random.default_rng(0))
    assert folds[11] == -1, "the only row of its class is never held out"
    assert set(folds) == {-1, 0, 1, 2, 3}
    for fold in range(4):
        assert set(codes[folds != fold]) == {0, 1, 2, 3}


def test_equal_losses_choose_the_usual_value() -> None:
    separated = LinearRows(10 * np.repeat(np.eye(3), 5, axis=0), label_space(list("abc")), np.repeat(np.arange(3), 5))
    chosen, losses = choose_regularisation(separated, seed=0)
    assert set(losses.values()) == {0.0}
    assert chosen == USUAL


def test_single_rows_leave_nothing_to_compare() -> None:
    rows = LinearRows(np.eye(3), label_space(list("abc")), np.arange(3))
    assert choose_regularisation(rows, seed=0) == (USUAL, {})


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from phasefit.models import regularisation

    sizes: list[int] = []
    whole = regularisation.fit_linear

    def counted(rows: LinearRows, **options: float) -> object:
        sizes.append(len(rows))
        return whole(rows, **options)

    monkeypatch.setattr(regularisation, "fit_linear", counted)
    choose_regularisation(noisy_rows(MOST_ROWS + 500), seed=0)
    assert max(sizes) < MOST_ROWS


def test_rows_of_weight_zero_do_not_count() -> None:
    rows = noisy_rows(60)
    wrong = LinearRows(rows.features, rows.space, (rows.values + 1) % 3)
    features, values = np.vstack([rows.features, wrong.features]), np.concatenate([rows.values, wrong.values])
    weights = np.repeat([1.0, 0.0], 60)
    with_noise = choose_regularisation(LinearRows(features, rows.space, values, weights), seed=0)[1]
    assert min(with_noise.values()) < 0.6, "guessing is wrong for two thirds"
