"""Estimators for several labels per text, scores, levels and pairs, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score

from phasefit import TextClassifier, TextRegressor
from phasefit.errors import DataError, LabelError, ModelError, RecipeError
from tiny import make_table

TEXTS, NAMES = make_table(60)
STEPS = {"finetune.max_steps": 2, "finetune.min_steps": 1, "finetune.lr": 2e-3, "finetune.batch_size": 16}
MATRIX = np.random.default_rng(0).integers(0, 2, (60, 3))
SETS = [{name for name, given in zip("cab", row, strict=True) if given} for row in MATRIX]
SCORES = np.random.default_rng(1).normal(2, 1, 60).round(2)
LEVELS = ("bad", "fair", "good")
PAIRS = [(text, other) for text, other in zip(TEXTS, reversed(TEXTS), strict=True)]
Make = Callable[..., Any]


def _make(kind: type, folder: Path, options: dict[str, Any]) -> Any:
    settings = {**STEPS, **options.pop("settings", {})}
    return kind(**{"recipe": "finetune", "model": str(folder), "settings": settings, **options})


@pytest.fixture(scope="module")
def classifier(tiny_folder: Path) -> Make:
    return lambda **options: _make(TextClassifier, tiny_folder, options)


@pytest.fixture(scope="module")
def regressor(tiny_folder: Path) -> Make:
    return lambda **options: _make(TextRegressor, tiny_folder, options)


@pytest.fixture(scope="module")
def of_matrix(classifier: Make) -> TextClassifier:
    return classifier().fit(TEXTS, MATRIX)


@pytest.fixture(scope="module")
def of_sets(classifier: Make) -> TextClassifier:
    return classifier().fit(TEXTS, SETS)


@pytest.fixture(scope="module")
def of_scores(regressor: Make) -> TextRegressor:
    return regressor().fit(TEXTS, SCORES)


@pytest.fixture(scope="module")
def of_levels(regressor: Make) -> TextRegressor:
    return regressor(levels=LEVELS).fit(TEXTS, LEVELS * 20)


# --- several labels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [list, frozenset, lambda row: np.array(sorted(row))])
def test_lists_and_sets_are_several_labels(classifier: Make, of_sets: TextClassifier, wrap: Callable) -> None:
    several = classifier().fit(TEXTS, [wrap(row) for row in SETS])
    assert several.model_.space.kind == "multi"
    assert several.classes_.tolist() == ["a", "b", "c"]
    assert np.array_equal(several.predict_proba(TEXTS), of_sets.predict_proba(TEXTS))


def test_several_labels_are_predicted_as_tuples(of_sets: TextClassifier) -> None:
    predicted = of_sets.predict(TEXTS)
    assert (predicted.shape, predicted.dtype) == ((60,), object)
    assert all(isinstance(row, tuple) and set(row) <= set("abc") for row in predicted)
    table = of_sets.predict_proba(TEXTS)
    assert table.shape == (60, 3)
    assert ((table >= 0) & (table <= 1)).all()
    chosen = of_sets.model_.decision().chosen(table)
    assert [tuple(of_sets.classes_[row]) for row in chosen] == predicted.tolist()


def test_the_score_of_several_labels_is_of_whole_sets(of_sets: TextClassifier, of_matrix: TextClassifier) -> None:
    right = [set(row) == truth for row, truth in zip(of_sets.predict(TEXTS), SETS, strict=True)]
    assert of_sets.score(TEXTS, SETS) == np.mean(right)
    assert of_sets.score(TEXTS, [sorted(row) for row in SETS]) == np.mean(right)
    assert of_matrix.score(TEXTS, MATRIX) == accuracy_score(MATRIX, of_matrix.predict(TEXTS))
    sure = np.array(right) + 1e-9
    assert of_sets.score(TEXTS, SETS, sample_weight=sure) == pytest.approx(1.0, abs=1e-6)


def test_no_texts_give_empty_arrays(of_sets: TextClassifier, of_matrix: TextClassifier) -> None:
    assert of_sets.predict([]).shape == (0,)
    assert of_matrix.predict([]).shape == (0, 3)
    assert of_matrix.predict_proba([]).shape == (0, 3)


@pytest.mark.parametrize(
    "wrap",
    [lambda y: y.astype(bool), lambda y: y.astype(float), csr_array],
    ids=["booleans", "floats", "sparse"],
)
def test_a_matrix_is_predicted_as_a_matrix(classifier: Make, of_matrix: TextClassifier, wrap: Callable) -> None:
    fitted = classifier().fit(TEXTS, wrap(MATRIX))
    assert fitted.classes_.tolist() == [0, 1, 2]
    answer = fitted.predict(TEXTS)
    assert (answer.shape, answer.dtype.kind) == ((60, 3), "i")
    assert set(np.unique(answer)) <= {0, 1}
    assert np.array_equal(answer, of_matrix.predict(TEXTS))
    assert fitted.score(TEXTS, wrap(MATRIX)) == of_matrix.score(TEXTS, MATRIX)


def test_the_columns_of_a_frame_keep_their_order(classifier: Make) -> None:
    frame = pd.DataFrame(MATRIX, columns=["c", "a", "b"])
    fitted = classifier().fit(TEXTS, frame)
    assert fitted.classes_.tolist() == ["a", "b", "c"], "columns of predict_proba, like all classes, are sorted"
    by_code = fitted.model_.decision().chosen(fitted.predict_proba(TEXTS))
    assert np.array_equal(fitted.predict(TEXTS), by_code[:, [2, 0, 1]])
    assert fitted.score(TEXTS, frame) == accuracy_score(MATRIX, fitted.predict(TEXTS))


def test_a_column_without_a_row_is_predicted_as_zeros(classifier: Make) -> None:
    wide = np.hstack([MATRIX[:, :1], np.zeros((60, 1), dtype=int), MATRIX[:, 1:]])
    fitted = classifier().fit(TEXTS, wide)
    assert fitted.classes_.tolist() == [0, 2, 3]
    assert fitted.predict(TEXTS).shape == (60, 4)
    assert not fitted.predict(TEXTS)[:, 1].any()


def test_a_text_may_have_none_of_the_labels(classifier: Make) -> None:
    fitted = classifier().fit(TEXTS, [[] if place % 3 else ["a", "b"] for place in range(60)])
    assert fitted.classes_.tolist() == ["a", "b"]
    assert set(fitted.predict(TEXTS)) <= {(), ("a",), ("b",), ("a", "b")}


@pytest.mark.parametrize(
    "rows",
    [
        MATRIX.tolist(),
        list(MATRIX),
        MATRIX.astype(bool).tolist(),
        [[place % 2, 1 - place % 2] for place in range(60)],
    ],
    ids=["lists", "arrays", "booleans", "two columns that exclude each other"],
)
def test_nested_zeros_and_ones_are_refused_in_one_sentence_that_names_the_array(classifier: Make, rows) -> None:
    with pytest.raises(LabelError, match=r"np\.array\(y\)") as caught:
        classifier().fit(TEXTS, rows)
    assert "\n" not in str(caught.value)


def test_a_matrix_of_anything_else_is_refused(classifier: Make) -> None:
    for wrong in (MATRIX * 2, MATRIX / 3):
        with pytest.raises(DataError, match="a label matrix must contain only 0 and 1"):
            classifier().fit(TEXTS, wrong)
    with pytest.raises(DataError):
        classifier().fit(TEXTS, MATRIX[:-1])


def test_validation_rows_may_be_a_matrix_too(classifier: Make) -> None:
    texts = make_table(15, seed=4)[0]
    fitted = classifier().fit(TEXTS, MATRIX, validation=(texts, MATRIX[:15]))
    assert fitted.validation_metrics_["rows"] == 15


def test_a_saved_classifier_is_the_same(of_sets: TextClassifier, tmp_path: Path) -> None:
    of_sets.save(tmp_path / "model")
    again = TextClassifier.load(tmp_path / "model")
    assert again.predict(TEXTS).tolist() == of_sets.predict(TEXTS).tolist()
    assert again.score(TEXTS, SETS) == of_sets.score(TEXTS, SETS)
    with pytest.raises(ModelError, match="labels of kind 'multi'; load it with TextClassifier"):
        TextRegressor.load(tmp_path / "model")


def test_a_saved_classifier_predicts_a_matrix_again(classifier: Make, of_matrix: TextClassifier, tmp_path) -> None:
    frame = pd.DataFrame(np.hstack([MATRIX, np.zeros((60, 1), dtype=int)]), columns=["c", "a", "b", "never"])
    for name, fitted in {"numbers": of_matrix, "names": classifier().fit(TEXTS, frame)}.items():
        fitted.save(tmp_path / name)
        again = TextClassifier.load(tmp_path / name)
        again.save(tmp_path / f"{name} again")
        for loaded in (again, TextClassifier.load(tmp_path / f"{name} again")):
            assert loaded.predict(TEXTS).dtype == np.int64
            assert np.array_equal(loaded.predict(TEXTS), fitted.predict(TEXTS))


def test_continuing_with_a_narrower_matrix(classifier: Make, of_matrix: TextClassifier, tmp_path: Path) -> None:
    of_matrix.save(tmp_path / "model")
    more = classifier(model=str(tmp_path / "model")).fit(TEXTS, MATRIX[:, :2])
    assert more.classes_.tolist() == [0, 1, 2], "classes of the run stay"
    assert more.predict(TEXTS).shape == (60, 2)
    assert more.predict_proba(TEXTS).shape == (60, 3)
    chosen = more.model_.decision().chosen(more.predict_proba(TEXTS))
    assert np.array_equal(more.predict(TEXTS), chosen[:, :2])
    assert 0 <= more.score(TEXTS, MATRIX[:, :2]) <= 1


# --- plain strings ----------------------------------------------------------------------------------------------------

BARS = [("a|b", "a", "b")[place % 3] for place in range(60)]
DECIMALS = [f"{place % 15}.5" for place in range(60)]
LISTS = [('["a", "b"]', '["a"]', '["b"]')[place % 3] for place in range(60)]


@pytest.mark.parametrize("labels", [BARS, DECIMALS, LISTS], ids=["bars", "decimals", "written lists"])
def test_strings_are_always_single_classes(classifier: Make, labels: list[str]) -> None:
    fitted = classifier().fit(TEXTS, labels)
    assert fitted.model_.space.kind == "single"
    assert fitted.classes_.tolist() == sorted(set(labels))
    assert fitted.predict(TEXTS).shape == (60,)
    assert set(fitted.predict(TEXTS)) <= set(labels)


def test_strings_are_single_classes_with_the_default_model_too(
    classifier: Make, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phasefit.models.encoder.locate.DEFAULT_MODEL", str(tiny_folder))
    fitted = classifier(model=None).fit(TEXTS, BARS)
    assert fitted.classes_.tolist() == ["a", "a|b", "b"]


def test_strings_are_read_like_the_labels_of_the_run(classifier: Make, of_sets, tmp_path: Path) -> None:
    of_sets.save(tmp_path / "model")
    more = classifier(model=str(tmp_path / "model")).fit(TEXTS, BARS)
    assert more.classes_.tolist() == ["a", "b", "c"]


def test_decimal_numbers_are_for_the_regressor(classifier: Make) -> None:
    with pytest.raises(LabelError, match="y contains decimal numbers, which are scores; use TextRegressor"):
        classifier().fit(TEXTS, SCORES)


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_pairs_are_tuples_or_two_columns(classifier: Make) -> None:
    fitted = classifier().fit(PAIRS, NAMES)
    frame = pd.DataFrame(PAIRS, columns=["left", "right"])
    table = fitted.predict_proba(PAIRS)
    assert table.shape == (60, 3)
    for same in (frame, np.array(PAIRS, dtype=object), [list(pair) for pair in PAIRS]):
        assert np.array_equal(fitted.predict_proba(same), table)
    assert np.array_equal(classifier().fit(frame, NAMES).predict_proba(frame), table)
    assert fitted.score(PAIRS, NAMES) == fitted.score(frame, NAMES) == np.mean(fitted.predict(PAIRS) == np.array(NAMES))
    with pytest.raises(DataError):
        fitted.predict(TEXTS)


def test_pairs_with_scores(regressor: Make) -> None:
    fitted = regressor(settings={"finetune.pair": "cosine"}).fit(PAIRS, SCORES)
    frame = pd.DataFrame(PAIRS)
    assert np.array_equal(fitted.predict(PAIRS), fitted.predict(frame))
    assert fitted.score(frame, SCORES) == pytest.approx(r2_score(SCORES, fitted.predict(PAIRS)))
    assert fitted.transform(TEXTS[:2]).shape == (2, 32)


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_are_numbers_and_their_score_is_r2(of_scores: TextRegressor) -> None:
    predicted = of_scores.predict(TEXTS)
    assert (predicted.shape, predicted.dtype.kind) == ((60,), "f")
    assert np.isfinite(predicted).all()
    assert of_scores.predict_scores(TEXTS) == pytest.approx(predicted)
    assert of_scores.score(TEXTS, SCORES) == pytest.approx(r2_score(SCORES, predicted))
    weights = np.arange(1, 61)
    assert of_scores.score(TEXTS, SCORES, weights) == pytest.approx(r2_score(SCORES, predicted, sample_weight=weights))
    assert of_scores.validation_metrics_["rows"] >= 12
    assert of_scores.levels_ == ()


@pytest.mark.parametrize("wrap", [pd.Series, lambda y: [str(score) for score in y]], ids=["series", "strings"])
def test_scores_in_containers_of_every_kind(regressor: Make, of_scores: TextRegressor, wrap: Callable) -> None:
    fitted = regressor().fit(TEXTS, wrap(SCORES))
    assert fitted.predict(TEXTS) == pytest.approx(of_scores.predict(TEXTS), abs=1e-4)


def test_whole_numbers_are_scores_here(regressor: Make) -> None:
    fitted = regressor().fit(TEXTS, [place % 5 for place in range(60)])
    assert fitted.model_.space.kind == "score"
    assert fitted.predict(TEXTS).dtype.kind == "f"


@pytest.mark.parametrize("wrong", ["good", None, float("nan"), float("inf"), [1.0]])
def test_an_invalid_score_is_refused_in_one_sentence(regressor: Make, wrong: Any) -> None:
    with pytest.raises(LabelError) as caught:
        regressor().fit(TEXTS, [*SCORES[:-1].tolist(), wrong])
    assert "\n" not in str(caught.value)


def test_no_texts_give_no_scores(of_scores: TextRegressor, of_levels: TextRegressor) -> None:
    assert of_scores.predict([]).shape == of_levels.predict([]).shape == (0,)
    assert of_scores.predict_scores([]).shape == (0,)


def test_a_regressor_is_cloned_saved_and_loaded(of_scores: TextRegressor, of_levels: TextRegressor, tmp_path) -> None:
    copy = clone(of_levels)
    assert copy.get_params() == of_levels.get_params()
    assert not hasattr(copy, "model_")
    with pytest.raises(NotFittedError):
        copy.predict(TEXTS)
    for name, fitted in (("scores", of_scores), ("levels", of_levels)):
        fitted.save(tmp_path / name)
        again = TextRegressor.load(tmp_path / name)
        assert again.levels_ == fitted.levels_
        assert again.predict(TEXTS).tolist() == fitted.predict(TEXTS).tolist()
        assert np.array_equal(again.predict_scores(TEXTS), fitted.predict_scores(TEXTS))
        with pytest.raises(ModelError, match="predicts scores; load it with TextRegressor"):
            TextClassifier.load(tmp_path / name)


def test_a_regressor_does_not_load_classes(classifier: Make, tmp_path: Path) -> None:
    classifier().fit(TEXTS, NAMES).save(tmp_path / "model")
    with pytest.raises(ModelError, match="labels of kind 'single'; load it with TextClassifier"):
        TextRegressor.load(tmp_path / "model")


def test_an_encoder_recipe_is_no_regressor(regressor: Make) -> None:
    with pytest.raises(RecipeError, match="trains an encoder without a head; use TextEncoder"):
        regressor(recipe="simcse", settings={}).fit(TEXTS, SCORES)


def test_class_names_cannot_be_texts_with_scores(regressor: Make) -> None:
    settings = {"contrast.class_texts": "names", "contrast.max_steps": 1}
    with pytest.raises((LabelError, RecipeError), match=r"the labels are scores, not classes") as caught:
        regressor(recipe="contrast-finetune", settings=settings).fit(TEXTS, SCORES)
    assert "\n" not in str(caught.value)


# --- levels -----------------------------------------------------------------------------------------------------------


def test_levels_are_predicted_by_their_names(of_levels: TextRegressor) -> None:
    predicted, places = of_levels.predict(TEXTS), of_levels.predict_scores(TEXTS)
    assert set(predicted.tolist()) <= set(LEVELS)
    assert predicted.tolist() == [LEVELS[place] for place in np.clip(np.floor(places + 0.5), 0, 2).astype(int)]
    truth = [0.0, 1.0, 2.0] * 20
    assert of_levels.score(TEXTS, LEVELS * 20) == pytest.approx(r2_score(truth, places))
    assert of_levels.levels_ == LEVELS


@pytest.mark.parametrize("wrap", [int, np.float64], ids=["integers", "floats"])
def test_levels_may_be_whole_numbers(regressor: Make, wrap: Callable) -> None:
    labels = [wrap(place % 3 + 1) for place in range(60)]
    fitted = regressor(levels=[1, 2, 3]).fit(TEXTS, labels)
    assert fitted.levels_ == ("1", "2", "3")
    assert set(fitted.predict(TEXTS).tolist()) <= {"1", "2", "3"}
    assert fitted.score(TEXTS, labels) == pytest.approx(
        r2_score([place % 3 for place in range(60)], fitted.predict_scores(TEXTS))
    )


def test_a_level_that_is_not_known_is_refused_in_one_sentence(regressor: Make, of_levels: TextRegressor) -> None:
    with pytest.raises(LabelError, match="'god' is not one of the levels; did you mean 'good'") as caught:
        regressor(levels=LEVELS).fit(TEXTS, [*LEVELS * 19, "bad", "fair", "god"])
    assert "\n" not in str(caught.value)
    with pytest.raises(LabelError, match="'god' is not one of the levels"):
        of_levels.score(TEXTS[:2], ["bad", "god"])
    with pytest.raises(LabelError, match=r"row 1: .*1\.5"):
        regressor(levels=[1, 2]).fit(TEXTS, [1.5, 2] * 30)


def test_levels_continue_only_with_the_same_levels(regressor: Make, of_levels: TextRegressor, tmp_path: Path) -> None:
    of_levels.save(tmp_path / "model")
    more = regressor(model=str(tmp_path / "model"), levels=LEVELS).fit(TEXTS, ["bad", "good"] * 30)
    assert more.levels_ == LEVELS
    with pytest.raises(
        LabelError, match="the levels of the model are bad, fair, good and those of the table good, fair, bad"
    ):
        regressor(model=str(tmp_path / "model"), levels=LEVELS[::-1]).fit(TEXTS, ["bad", "good"] * 30)


def test_levels_of_a_run_need_not_be_repeated(regressor: Make, of_levels: TextRegressor, tmp_path: Path) -> None:
    of_levels.save(tmp_path / "model")
    more = regressor(model=str(tmp_path / "model")).fit(TEXTS, ["bad", "good"] * 30)
    assert more.levels_ == LEVELS
