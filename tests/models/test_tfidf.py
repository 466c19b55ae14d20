"""TF-IDF models: the features of scikit-learn, and files that are checked before they are used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.feature_extraction.text import TfidfVectorizer

from phasefit.data.labels import label_space
from phasefit.errors import DataError, ModelError
from phasefit.kinds.decision import Decision
from phasefit.models.tfidf.features import row_features, tfidf_rows
from phasefit.models.tfidf.model import PAIR, LinearWeights, TfidfHead, TfidfModel
from phasefit.runs.results import save_model
from phasefit.runs.run import Run

TEXTS = ["The cat, the CAT sat!", "a dog_2 sat on the mat", "", "İstanbul straße naïve x y", "no known words", "cat"]


def test_features_are_those_of_scikit_learn() -> None:
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(TEXTS[:4])
    places = {str(term): int(place) for term, place in words.vocabulary_.items()}
    ours = tfidf_rows(TEXTS, places, words.idf_)
    assert np.allclose(ours.toarray(), words.transform(TEXTS).toarray())
    pairs = row_features([TEXTS, TEXTS[::-1]], places, words.idf_)
    assert pairs.shape == (6, 4 * len(places) + 1)
    assert pairs.toarray()[0, -1] == pytest.approx(float((ours[0] @ ours[5].T).toarray()[0, 0]))


def tiny_model(pair: str | None = None) -> TfidfModel:
    terms = ("bad", "good", "good day")
    features = 4 * len(terms) + 1 if pair else len(terms)
    weights = np.zeros((features, 2), np.float32)
    weights[0, 0] = weights[1, 1] = 3.0
    head = TfidfHead(terms, np.ones(3, np.float32), LinearWeights(weights, np.zeros(2, np.float32)), pair)
    return TfidfModel(head, label_space(["no", "yes"]))


def test_it_predicts_and_is_saved_like_any_model(tmp_path: Path) -> None:
    model = tiny_model()
    model.decisions["default"] = Decision(0.5)
    assert model.predict(["a good day", "bad", ""]) == ["yes", "no", "no"]
    save_model(model, tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        *("heads.safetensors", "labels.json", "phasefit.json", "terms.json")
    ]
    run = Run.open(tmp_path / "saved")
    loaded = run.predictor("cpu")
    assert np.array_equal(loaded.predict_outputs(TEXTS), model.predict_outputs(TEXTS))
    assert loaded.predict_outputs([]).shape == (0, 2)
    assert not run.has_encoder
    for needs_encoder in (run.model, run.check_encoder):
        with pytest.raises(ModelError, match=r"is a TF-IDF model \(recipe 'tfidf'\) and has no encoder"):
            needs_encoder()
    with pytest.raises(ModelError, match="no embeddings"):
        loaded.embed(TEXTS)


def test_wrong_rows_are_refused() -> None:
    with pytest.raises(DataError, match="row 2 is a text pair"):
        tiny_model().predict(["one", ("two", "three")])
    with pytest.raises(DataError, match="row 1 is not a pair"):
        tiny_model(PAIR).predict(["one"])
    with pytest.raises(DataError, match="text 1 is not a string: 3"):
        tiny_model().predict([3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not one string"):
        tiny_model().predict("one")
    assert tiny_model(PAIR).predict_outputs([("good", "bad")]).shape == (1, 2)


def terms(*content: Any) -> Callable[[Path], None]:
    return lambda folder: (folder / "terms.json").write_text(json.dumps(list(content)), encoding="utf-8") and None


def weights(**arrays: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        save_file({**load_file(folder / "heads.safetensors"), **arrays}, folder / "heads.safetensors")

    return change


def head(**entries: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        manifest = json.loads((folder / "phasefit.json").read_text())
        manifest["heads"]["default"] |= entries
        (folder / "phasefit.json").write_text(json.dumps(manifest))

    return change


def two_heads(folder: Path) -> None:
    manifest = json.loads((folder / "phasefit.json").read_text())
    manifest["heads"]["other"] = manifest["heads"]["default"]
    (folder / "phasefit.json").write_text(json.dumps(manifest))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "duplicate terms": terms("bad", "bad", "good"),
    "fewer terms": terms("bad"),
    "not words": terms("bad", "good", "\x1b[31m"),
    "three words": terms("bad", "good", "a good day"),
    "numbers as terms": terms("bad", "good", 3),
    "no list": lambda folder: (folder / "terms.json").write_text("{}") and None,
    "no terms": lambda folder: (folder / "terms.json").unlink(),
    "not finite": weights(bias=np.array([np.nan, 0], np.float32)),
    "other type": weights(bias=np.zeros(2, np.float64)),
    "more classes": weights(bias=np.zeros(3, np.float32)),
    "other shape": weights(weights=np.zeros((4, 2), np.float32)),
    "more arrays": weights(other=np.zeros(1, np.float32)),
    "other dimension": head(dimension=10**9),
    "other classes": head(classes=3),
    "pairs": head(pair=PAIR),
    "other pairs": head(pair="cosine"),
    "two heads": two_heads,
    "cut off": lambda folder: (folder / "heads.safetensors").write_bytes(b"\xff" * 12) and None,
    "no weights": lambda folder: (folder / "heads.safetensors").unlink(),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tfidf") / "saved"
    save_model(tiny_model(), folder)
    return folder


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_model_is_one_sentence(saved: Path, tmp_path: Path, what: str) -> None:
    for number, consistent in enumerate((False, True)):  # a stranger can also write matching checksums
        folder = tmp_path / f"run{number}"
        shutil.copytree(saved, folder)
        DAMAGE[what](folder)
        if consistent:
            manifest = json.loads((folder / "phasefit.json").read_text())
            from phasefit.files.integrity import hash_files

            manifest["files"] = hash_files(folder)
            (folder / "phasefit.json").write_text(json.dumps(manifest))
        with pytest.raises(ModelError) as error:
            Run.open(folder).predictor("cpu")
        assert len(str(error.value).splitlines()) == 1
        assert "\x1b" not in str(error.value)
