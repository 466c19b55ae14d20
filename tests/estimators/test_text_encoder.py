"""TextEncoder as a scikit-learn estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from phasefit import TextClassifier, TextEncoder
from phasefit.errors import DataError, LabelError, ModelError, PhasefitWarning
from phasefit.estimators.inputs import as_rows
from phasefit.events import PhaseStarted
from tiny import make_table

TEXTS, LABELS = make_table(40)
PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))


@pytest.fixture
def make(tiny_folder: Path):
    def make(recipe: str = "simcse", **options: Any) -> TextEncoder:
        settings = {f"{recipe}.max_steps": 2, f"{recipe}.batch_size": 8, f"{recipe}.min_steps": 1}
        return TextEncoder(recipe, model=str(tiny_folder), settings=settings, **options)

    return make


def test_init_stores_and_clone_works(make) -> None:
    assert repr(TextEncoder()) == "TextEncoder()"
    encoder = make(seed=3)
    only_classifiers = {"calibrate", "reject", "minutes", "effort"}
    own = set(encoder.get_params(deep=False))
    assert set(vars(encoder)) == own == set(TextClassifier().get_params()) - only_classifiers
    assert clone(encoder).get_params() == encoder.get_params()


def test_fit_and_transform(make, tmp_path: Path) -> None:
    encoder = make()
    assert encoder.fit(TEXTS) is encoder
    vectors = encoder.transform(TEXTS[:5])
    assert vectors.shape == (5, 32)
    assert encoder.transform([]).shape == (0, 32)
    assert encoder.phases_[0]["name"] == "simcse"
    assert any("loss" in row for row in encoder.history_)
    encoder.save(tmp_path / "model")
    assert np.array_equal(TextEncoder.load(tmp_path / "model").transform(TEXTS[:5]), vectors)
    plain = SentenceTransformer(str(tmp_path / "model" / "encoder"), device="cpu").encode(TEXTS[:5])
    assert plain == pytest.approx(vectors, abs=1e-5)
    with pytest.raises(ModelError, match="only embeds"):
        TextClassifier.load(tmp_path / "model")


def test_fit_transform_is_fit_then_transform(make) -> None:
    encoder = make("mnr")
    assert np.array_equal(encoder.fit_transform(PAIRS), encoder.transform(TEXTS))


@pytest.mark.parametrize(
    "wrap",
    [lambda rows: [list(row) for row in rows], np.array, lambda rows: pd.DataFrame(rows, columns=["x", "y"])],
    ids=["lists", "array", "frame"],
)
def test_pairs_of_every_kind(make, wrap) -> None:
    assert as_rows(wrap(PAIRS)) == PAIRS == as_rows(PAIRS)


def test_pairs_to_validate_on(make) -> None:
    events: list[Any] = []
    with pytest.warns(PhasefitWarning, match="6 of the 6 validation texts are also training texts"):
        make("mnr", listener=events.append).fit(np.array(PAIRS), validation=PAIRS[:6])
    [started] = [event for event in events if isinstance(event, PhaseStarted)]
    assert started.facts["rows"] == 40


def test_labels_choose_the_watched_score(make) -> None:
    with pytest.warns(PhasefitWarning, match="9 of the 9 validation texts are also training texts"):
        fitted = make().fit(TEXTS, LABELS, validation=(TEXTS[:9], LABELS[:9]))
    assert fitted.phases_[0]["watch"] == "probe"
    assert make().fit(TEXTS).phases_[0]["watch"] == "loss"


def test_before_a_classifier(make) -> None:
    pipeline = make_pipeline(make(), LogisticRegression()).fit(TEXTS, LABELS)
    assert pipeline.predict(TEXTS[:2]).shape == (2,)


@pytest.mark.parametrize(
    ("recipe", "rows", "message"),
    [
        ("mnr", TEXTS, r"pairs of texts are needed here; give them as tuples"),
        ("mnr", [*PAIRS, ("a", "b", "c")], "rows of 2 texts and 3 texts"),
        ("mnr", [*PAIRS, ("a", None)], "row 41: the text is empty or missing"),
        ("simcse", "a text", "expected a list of texts, got one string"),
        ("simcse", [], "has no rows"),
        ("simcse", [*TEXTS, 3], r"text 41 is not a string \(int\)"),
        ("simcse", {"text": TEXTS}, "one column"),
    ],
)
def test_wrong_input_is_one_sentence(make, recipe: str, rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(recipe).fit(rows)


def test_a_recipe_that_needs_labels(make) -> None:
    with pytest.raises(LabelError, match="labels are needed"):
        make("finetune").fit(TEXTS)


def test_before_fitting() -> None:
    with pytest.raises(NotFittedError, match="this TextEncoder is not fitted yet"):
        TextEncoder().transform(["text"])
