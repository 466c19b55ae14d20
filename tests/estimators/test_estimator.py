"""TextClassifier as a scikit-learn estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from phasefit import TextClassifier
from phasefit.errors import DataError, LabelError, ModelError, RecipeError, RunError
from phasefit.events import PhaseStarted
from tiny import make_table, tree

TEXTS, LABELS = make_table(60)
STEPS = {"finetune.max_steps": 3, "finetune.min_steps": 1, "finetune.lr": 2e-3, "finetune.batch_size": 16}


@pytest.fixture
def make(tiny_folder: Path):
    def make(**options: Any) -> TextClassifier:
        settings = {**STEPS, **options.pop("settings", {})}
        return TextClassifier(**{"recipe": "finetune", "model": str(tiny_folder), "settings": settings, **options})

    return make


def strip(texts):
    return [text.strip() for text in texts]


# --- parameters -------------------------------------------------------------------------------------------------------


def test_init_only_stores_parameters(make) -> None:
    settings = {"finetune.epochs": 3}
    classifier = TextClassifier("joint", settings=settings, seed=4)
    assert classifier.settings is settings
    assert classifier.get_params()["recipe"] == "joint"
    assert set(vars(classifier)) == set(classifier.get_params(deep=False))


def test_clone_and_set_params(make) -> None:
    classifier = make(seed=3).fit(TEXTS, LABELS)
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params()
    assert not hasattr(copy, "model_")
    assert copy.set_params(seed=9, recipe="joint").get_params()["seed"] == 9
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(nope=1)


def test_repr_is_short() -> None:
    assert repr(TextClassifier()) == "TextClassifier()"


# --- fitting ----------------------------------------------------------------------------------------------------------


def test_fit_returns_itself_and_learns(make) -> None:
    classifier = make(settings={"finetune.max_steps": 60, "finetune.epochs": 30}, validation_size=0.0)
    assert classifier.fit(TEXTS, LABELS) is classifier
    assert classifier.score(TEXTS, LABELS) > 0.8
    assert classifier.phases_[0]["name"] == "finetune"
    assert any("loss" in row for row in classifier.history_)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (LABELS, "U"),
        ([{"music": 7, "weather": -1, "food": 3}[label] for label in LABELS], "i"),
        ([label == "music" for label in LABELS], "b"),
        (tree(LABELS), "O"),
    ],
    ids=["names", "numbers", "booleans", "paths"],
)
def test_labels_of_every_type(make, labels, kind) -> None:
    classifier = make().fit(TEXTS, labels)
    assert classifier.classes_.dtype.kind == kind
    assert list(classifier.classes_) == sorted(set(labels))
    predicted = classifier.predict(TEXTS[:7])
    assert predicted.shape == (7,)
    assert set(predicted.tolist() if kind != "O" else predicted) <= set(labels)
    assert 0 <= classifier.score(TEXTS, labels) <= 1


def test_columns_are_the_classes(make) -> None:
    classifier = make().fit(TEXTS, LABELS)
    table = classifier.predict_proba(TEXTS)
    assert table.shape == (60, 3)
    assert table.sum(axis=1) == pytest.approx(np.ones(60))
    assert (classifier.predict(TEXTS) == classifier.classes_[table.argmax(axis=1)]).all()
    assert classifier.score(TEXTS, LABELS) == np.mean(classifier.predict(TEXTS) == np.array(LABELS))


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        np.array,
        lambda v: np.array(v, dtype=object),
        lambda v: pd.Series(v, index=range(100, 100 + len(v))),
    ],
    ids=["list", "tuple", "array", "objects", "series"],
)
def test_containers_of_every_kind(make, wrap) -> None:
    plain = make().fit(TEXTS, LABELS)
    wrapped = make().fit(wrap(TEXTS), wrap(LABELS))
    assert np.array_equal(plain.predict_proba(TEXTS), wrapped.predict_proba(wrap(TEXTS)))
    assert wrapped.transform(wrap(TEXTS[:2])).shape == (2, 32)
    assert wrapped.score(wrap(TEXTS), wrap(LABELS)) == plain.score(TEXTS, LABELS)


def test_categories_of_pandas(make) -> None:
    classifier = make().fit(pd.Series(TEXTS, dtype="string"), pd.Series(LABELS, dtype="category"))
    assert list(classifier.classes_) == ["food", "music", "weather"]


def test_rows_of_an_array_are_several_labels_and_not_a_path(make) -> None:
    with pytest.raises(DataError, match="a label matrix must contain only 0 and 1"):
        make().fit(TEXTS, np.array(tree(LABELS)))


def test_the_same_seed_fits_the_same(make) -> None:
    first, again, other = (make(seed=seed).fit(TEXTS, LABELS).predict_proba(TEXTS) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_fitting_again_starts_from_scratch(make) -> None:
    classifier = make().fit(TEXTS, LABELS)
    first = classifier.predict_proba(TEXTS)
    texts, labels = make_table(60, classes=4, seed=3)
    assert len(classifier.fit(texts, labels).classes_) == 4
    assert np.array_equal(classifier.fit(TEXTS, LABELS).predict_proba(TEXTS), first)


def test_validation_rows_may_be_given(make) -> None:
    assert make().fit(TEXTS, LABELS).validation_metrics_["rows"] == 12
    classifier = make().fit(TEXTS, LABELS, validation=make_table(15, seed=4))
    assert classifier.validation_metrics_["rows"] == 15
    classifier = make(validation_size=0.0).fit(TEXTS, LABELS)
    assert classifier.validation_metrics_ is None


def test_unlabelled_texts(make) -> None:
    events = []
    settings = {"denoise.max_steps": 1}
    classifier = make(recipe="denoise-finetune", settings=settings, listener=events.append)
    classifier.fit(TEXTS, LABELS, unlabelled=make_table(25, seed=4)[0])
    rows = {event.phase: event.facts["rows"] for event in events if isinstance(event, PhaseStarted)}
    assert rows == {"denoise": 48 + 25, "finetune": 48}


def test_the_rounds_of_self_training(tiny_folder: Path) -> None:
    settings = {"self-train.max_steps": 20, "self-train.rounds": 1}
    classifier = TextClassifier("self-train", model=str(tiny_folder), settings=settings)
    classifier.fit(TEXTS, LABELS, unlabelled=make_table(25, seed=4)[0])
    rounds = classifier.phases_[0]["rounds"]
    assert [entry["round"] for entry in rounds] == [0, 1]
    assert rounds[0]["kept"]
    assert 0 < rounds[1]["pseudo_labels"] <= 25


def test_settings_of_every_type(make) -> None:
    settings = {
        "finetune.lrs": {"head": 1e-2},
        "finetune.freeze": True,
        "finetune.head": "linear",
        "finetune.lr": np.float64(1e-3),
        "finetune.max_steps": np.int64(2),
        "max_length": 16,
    }
    classifier = make(settings=settings).fit(TEXTS, LABELS)
    assert classifier.phases_[0]["steps"] == 2
    assert classifier.model_.head().kind == "linear"
    assert classifier.model_.encoder.max_length == 16


# --- with scikit-learn ------------------------------------------------------------------------------------------------


def test_in_a_pipeline(make) -> None:
    pipeline = Pipeline([("strip", FunctionTransformer(strip)), ("classify", make())]).fit(TEXTS, LABELS)
    assert pipeline.predict(["  rain and storm  "]).shape == (1,)
    assert pipeline.predict_proba(TEXTS[:3]).shape == (3, 3)
    assert list(pipeline.classes_) == ["food", "music", "weather"]


def test_as_an_embedder_before_another_classifier(make) -> None:
    from sklearn.linear_model import LogisticRegression

    pipeline = make_pipeline(make(), LogisticRegression()).fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) > 0.6


def test_cross_validation(make) -> None:
    assert cross_val_score(make(), TEXTS, LABELS, cv=2).shape == (2,)
    scores = cross_val_score(make(), np.array(TEXTS), np.array(LABELS), cv=KFold(2), scoring="f1_macro")
    assert np.isfinite(scores).all()
    table = cross_val_predict(make(), TEXTS, LABELS, cv=2, method="predict_proba")
    assert table.shape == (60, 3)


def test_grid_search(make) -> None:
    grid = {"settings": [STEPS, {**STEPS, "finetune.lr": 1e-5}], "seed": [1]}
    search = GridSearchCV(make(), grid, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_["settings"] in grid["settings"]
    assert search.predict(TEXTS[:2]).shape == (2,)


# --- saving -----------------------------------------------------------------------------------------------------------


def test_save_and_load(make, tmp_path: Path) -> None:
    classifier = make().fit(TEXTS, tree(LABELS))
    classifier.save(tmp_path / "model")
    again = TextClassifier.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(TEXTS), classifier.predict_proba(TEXTS))
    assert np.array_equal(again.transform(TEXTS), classifier.transform(TEXTS))
    assert list(again.classes_) == list(classifier.classes_)
    with pytest.raises(RunError):
        classifier.save(tmp_path / "model")
    classifier.save(tmp_path / "model", overwrite=True)


def test_continuing_from_a_run(make, tmp_path: Path) -> None:
    make().fit(TEXTS, LABELS).save(tmp_path / "model")
    texts, labels = make_table(60, classes=4, seed=3)
    more = make(model=str(tmp_path / "model")).fit(texts, labels)
    assert list(more.classes_) == ["food", "music", "weather", "travel"]


def test_loading_what_has_no_classifier(tiny_folder: Path) -> None:
    with pytest.raises(ModelError, match="only embeds"):
        TextClassifier.load(tiny_folder)


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "predict_proba", "transform"])
def test_before_fitting(method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(TextClassifier(), method)(["text"])
    with pytest.raises(NotFittedError):
        getattr(TextClassifier(), method)([])
    with pytest.raises(NotFittedError):
        TextClassifier().score(["text"], ["label"])
    with pytest.raises(NotFittedError):
        TextClassifier().save("nowhere")


def test_no_texts_give_empty_arrays(make) -> None:
    classifier = make().fit(TEXTS, LABELS)
    assert classifier.predict([]).shape == (0,)
    assert classifier.predict_proba([]).shape == (0, 3)
    assert classifier.transform([]).shape == (0, 32)


@pytest.mark.parametrize(
    ("texts", "labels", "error"),
    [
        ("one string", ["a"], DataError),
        (TEXTS, LABELS[:-1], DataError),
        ([*TEXTS[:-1], None], LABELS, DataError),
        ([*TEXTS[:-1], 3], LABELS, DataError),
        ([[text] for text in TEXTS], LABELS, DataError),
        (TEXTS, ["same"] * 60, LabelError),
        (TEXTS, [*LABELS[:-1], None], LabelError),
        (TEXTS, [*LABELS[:-1], float("nan")], LabelError),
        ([], [], DataError),
    ],
)
def test_wrong_input_is_one_sentence(make, texts, labels, error) -> None:
    with pytest.raises(error):
        make().fit(texts, labels)


@pytest.mark.parametrize(
    ("missing", "name"),
    [(float("nan"), "NaN"), (np.float32("nan"), "NaN"), (None, "None"), (pd.NA, "NA")],
    ids=["nan", "numpy nan", "none", "pandas na"],
)
def test_a_missing_text_is_named(missing: Any, name: str) -> None:
    message = rf"^text 1 is missing \({name}\); drop or fill it$"
    with pytest.raises(DataError, match=message):
        TextClassifier().fit([missing, *TEXTS[1:]], LABELS)
    with pytest.raises(DataError, match=message):
        TextClassifier().predict([missing])
    with pytest.raises(DataError, match=r"^text 2 is not a string \(float\); pass a one-dimensional list of strings$"):
        TextClassifier().predict(["a text", 0.5])


def test_a_missing_text_of_a_column_is_named() -> None:
    for column in (pd.Series([TEXTS[0], None]), pd.DataFrame({"text": [TEXTS[0], float("nan")]})):
        with pytest.raises(DataError, match=r"^text 2 is missing \((NaN|None)\); drop or fill it$"):
            TextClassifier().predict(column)


def test_wrong_settings_are_named(make) -> None:
    with pytest.raises(RecipeError, match="did you mean 'finetune'"):
        make(settings={"finetun.lr": 1}).fit(TEXTS, LABELS)
    with pytest.raises(RecipeError, match="did you mean 'epochs'"):
        make(settings={"finetune.epoch": 1}).fit(TEXTS, LABELS)
    with pytest.raises(RecipeError, match=r"finetune\.epochs cannot be None"):
        make(settings={"finetune.epochs": None}).fit(TEXTS, LABELS)


def test_an_unknown_label_counts_as_a_mistake(make) -> None:
    classifier = make().fit(TEXTS, LABELS)
    known = classifier.score(TEXTS[:4], LABELS[:4])
    assert classifier.score(TEXTS[:4] + TEXTS[:4], LABELS[:4] + ["musik"] * 4) == pytest.approx(known / 2), "a mistake"


def test_weights_of_samples(make) -> None:
    classifier = make().fit(TEXTS, LABELS)
    right = classifier.predict(TEXTS) == np.array(LABELS)
    assert classifier.score(TEXTS, LABELS, sample_weight=right + 1e-9) == pytest.approx(1.0, abs=1e-6)


def test_one_column_of_a_frame_is_a_column_of_texts(make) -> None:
    frame = pd.DataFrame({"text": TEXTS, "other": range(len(TEXTS))})
    classifier = make().fit(frame[["text"]], LABELS)
    assert classifier.predict(frame[["text"]]).tolist() == classifier.predict(TEXTS).tolist()
    for wrong in (frame, {"text": TEXTS}, np.array([[text, text] for text in TEXTS])):
        with pytest.raises(DataError, match=r"one column|expects single texts"):
            classifier.predict(wrong)


def test_a_recipe_without_a_classifier_is_refused_before_it_trains(make) -> None:
    with pytest.raises(RecipeError, match="recipe 'simcse' trains an encoder without a classifier; use TextEncoder"):
        make(recipe="simcse", settings={}).fit(TEXTS, LABELS)


def test_it_may_abstain(make) -> None:
    classifier = make(reject=0.3, validation_size=0.4).fit(TEXTS, LABELS)
    predicted = classifier.predict(TEXTS)
    sure = classifier.predict_proba(TEXTS).max(axis=1) >= classifier.model_.decision().reject_below
    assert [label is not None for label in predicted] == sure.tolist()
    assert not sure.all()
    assert 0 <= classifier.score(TEXTS, LABELS) <= 1
    assert make(calibrate=False).fit(TEXTS, LABELS).model_.decisions == {}
