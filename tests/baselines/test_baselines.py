"""Every baseline on every kind of label: outputs of the right shape, better than chance if words show the class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from phasefit.baselines import baseline
from phasefit.baselines.contract import FitOptions
from phasefit.errors import DataError
from phasefit.kinds.decision import Decision
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.needs import Needs
from phasefit.runs.evaluation.score import score_outputs
from specs import prepare, run_spec
from tiny import make_table

TEXTS, TOPICS = make_table(90, classes=3)
PLACES = {name: place for place, name in enumerate(sorted({*TOPICS}))}
KINDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "single": (TOPICS, {}),
    "tree": ([f"all/{topic}" for topic in TOPICS], {"tree": "/"}),
    "multi": ([f"{topic}|text" if PLACES[topic] else "text" for topic in TOPICS], {"kind": "multi"}),
    "score": ([f"{PLACES[topic]}.{row:02d}" for row, topic in enumerate(TOPICS)], {"kind": "score"}),
}


def prepared_of(tmp_path: Path, kind: str, pairs: bool = False) -> tuple[Prepared, FitOptions]:
    labels, options = KINDS[kind]
    columns = {"text_a": TEXTS, "text_b": TEXTS[::-1]} if pairs else {"text": TEXTS}
    path = tmp_path / "table.csv"
    pd.DataFrame({**columns, "label": labels}).to_csv(path, index=False)
    spec = run_spec(str(path), device="cpu", **options)
    return prepare(spec, None, Needs(labels=True, labels_of_pairs=True)), FitOptions(device="cpu")


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["majority", "tfidf", "frozen"])
def test_it_predicts_every_kind(tmp_path: Path, tiny_folder: Path, name: str, kind: str, pairs: bool) -> None:
    prepared = prepared_of(tmp_path, kind, pairs)[0]
    assert prepared.test is not None
    outputs = baseline(name).fit(prepared, FitOptions(model=str(tiny_folder), device="cpu"))(prepared.test)
    width = 1 if kind == "score" else len(prepared.space)
    assert outputs.shape == (len(prepared.test), width)
    assert np.isfinite(outputs).all()
    if kind in ("single", "tree"):
        assert np.allclose(outputs.sum(axis=1), 1)
    assert score_outputs(prepared.space, Decision(), prepared.test, outputs)["rows"] == len(prepared.test)


def test_words_determine_these_classes(tmp_path: Path) -> None:
    prepared, options = prepared_of(tmp_path, "single")
    assert prepared.test is not None
    outputs = baseline("tfidf").fit(prepared, options)(prepared.test)
    assert score_outputs(prepared.space, Decision(), prepared.test, outputs)["accuracy"] >= 0.8


def test_majority_predicts_the_most_frequent_class(tmp_path: Path) -> None:
    prepared, options = prepared_of(tmp_path, "single")
    assert prepared.test is not None
    outputs = baseline("majority").fit(prepared, options)(prepared.test)
    counts = np.bincount(prepared.codes(prepared.train))
    assert outputs.argmax(axis=1).tolist() == [int(counts.argmax())] * len(prepared.test)
    assert outputs[0] == pytest.approx(counts / counts.sum())


def test_texts_without_words_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "dots.csv"
    pd.DataFrame({"text": ["!" * (row + 1) for row in range(40)], "label": ["a", "b"] * 20}).to_csv(path, index=False)
    spec = run_spec(str(path))
    with pytest.raises(DataError, match="tfidf finds no words"):
        baseline("tfidf").fit(prepare(spec), FitOptions())


def test_an_encoder_has_no_predictions(tmp_path: Path) -> None:
    prepared, options = prepared_of(tmp_path, "single")
    with pytest.raises(DataError, match="use 'frozen'"):
        baseline("untrained").fit(prepared, options)


def test_setfit_supports_one_class_per_text(tmp_path: Path) -> None:
    prepared, options = prepared_of(tmp_path, "score")
    with pytest.raises(DataError, match="remove it from the comparison"):
        baseline("setfit").fit(prepared, options)
