"""Occlusion is exact on a linear bag of words, and needs no torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from explaining import WEIGHTS, BagOfWords
from phasefit.errors import DataError, LabelError, ModelError
from phasefit.explain import DeletionTest, deletion_test, explain_texts
from phasefit.explain.occlusion import MOST_PARTS
from phasefit.kinds.decision import Decision

TEXT = "a very good but bad film"


def weights_of(explanation) -> list[float]:
    return [word.weight for word in explanation.words]


def test_the_weights_are_those_of_the_model() -> None:
    (one,) = explain_texts(BagOfWords(), [TEXT])
    assert one.method == "occlusion"
    assert (one.label, one.prediction, one.unit) == ("yes", ("yes",), "log-odds")
    assert weights_of(one) == pytest.approx([WEIGHTS.get(word, 0.0) for word in TEXT.split()])
    assert [TEXT[word.start : word.end] for word in one.words] == [word.text for word in one.words] == TEXT.split()
    (other,) = explain_texts(BagOfWords(), [TEXT], label="no")
    assert weights_of(other) == pytest.approx([-weight for weight in weights_of(one)])
    assert other.probability == pytest.approx(1 - (one.probability or 0))


def test_scores() -> None:
    (one,) = explain_texts(BagOfWords([0.5, 2.0]), [TEXT])
    assert (one.label, one.probability, one.unit, one.score) == (None, None, "score", pytest.approx(0.75))
    assert weights_of(one) == pytest.approx([WEIGHTS.get(word, 0.0) for word in TEXT.split()])
    with pytest.raises(LabelError, match="scores, which have no labels"):
        explain_texts(BagOfWords([0.5, 2.0]), [TEXT], label="yes")


def test_several_labels_have_an_explanation_each() -> None:
    model = BagOfWords([frozenset({"x"}), frozenset({"y"})])
    assert [(one.row, one.label) for one in explain_texts(model, ["good", "bad", "very good"])] == [
        *((0, "x"), (0, "y"), (1, "x"), (2, "x"), (2, "y"))
    ]
    (bad,) = explain_texts(model, ["bad"])
    assert bad.notes == ("the model predicts no label for this text",)


def test_only_some_of_very_many_labels_are_explained() -> None:
    class Many(BagOfWords):
        def predict_outputs(self, texts: Sequence[Any], **_: Any) -> np.ndarray:
            return np.tile(np.linspace(0.6, 0.9, 500), (len(texts), 1))

    explained = explain_texts(Many([frozenset({f"label{number:03}"}) for number in range(500)]), ["good film"])
    assert [one.label for one in explained] == [f"label{number}" for number in range(499, 489, -1)]
    assert all("the text has 500 predicted labels" in one.notes[0] for one in explained)


def test_a_withheld_prediction_is_explained() -> None:
    model = BagOfWords()
    model.decisions["default"] = Decision(reject_below=0.99)
    (one,) = explain_texts(model, ["very good film"])
    assert (one.label, one.prediction) == ("yes", ())


def test_both_texts_of_a_pair_have_weights() -> None:
    (one,) = explain_texts(BagOfWords(pair=True), [("good film", "bad film")])
    assert [(word.side, word.start, word.text) for word in one.words] == [
        *((0, 0, "good"), (0, 5, "film"), (1, 0, "bad"), (1, 4, "film"))
    ]
    assert weights_of(one) == pytest.approx([2.0, 0.0, -3.0, 0.0] if one.label == "yes" else [-2.0, 0.0, 3.0, 0.0])


def test_many_words_are_left_out_together() -> None:
    (one,) = explain_texts(BagOfWords([0.5, 2.0]), ["very " * 10_000])
    assert len(one.words) == 10_000
    assert sum(weights_of(one)) == pytest.approx(2500)
    assert any(str(MOST_PARTS) in note for note in one.notes)


def test_the_deletion_test_finds_the_words_that_matter() -> None:
    model = BagOfWords()
    found = explain_texts(
        model, ["a good film of the day", "this is a good one for us all", "very bad film to see now"]
    )
    test = deletion_test(model, found)
    assert test.better
    assert test.important > test.random
    assert "lowers the probability by" in test.sentence
    assert deletion_test(model, found) == test, "the same draws each time"


def test_words_that_do_not_matter_are_reported() -> None:
    model = BagOfWords(weights={})
    test = deletion_test(model, explain_texts(model, ["a b c d", "e f g h"]))
    assert not test.better
    assert "not clearly better than random" in test.sentence
    nothing = deletion_test(model, explain_texts(model, ["", "one"]))
    assert (nothing.explanations, nothing.better) == (0, False)
    assert "could not be tested" in nothing.sentence


def test_bad_requests() -> None:
    model = BagOfWords()
    with pytest.raises(DataError, match="did you mean 'gradients'"):
        explain_texts(model, ["x"], method="gradient")
    with pytest.raises(ModelError, match="use --method occlusion"):
        explain_texts(model, ["x"], method="gradients")
    with pytest.raises(LabelError, match="no label 'yess'; did you mean 'yes'"):
        explain_texts(model, ["x"], label="yess")
    assert explain_texts(model, []) == []


def test_occlusion_imports_no_torch() -> None:
    code = "import sys; import phasefit.explain; sys.exit(bool({'torch', 'captum', 'pandas'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_small_changes_are_shown_with_more_digits() -> None:
    assert "by 0.0031, a random word by 0.0002" in DeletionTest(1, 1, 0.0031, 0.0002, 0.0, "probability").sentence
    assert "by 0.31, a random word by 0.00" in DeletionTest(1, 1, 0.31, 0.0002, 0.0, "probability").sentence
