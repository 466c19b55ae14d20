"""Weights of rows without an encoder, settings of a frozen phase, and runs that do not exist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phasefit import TextClassifier
from phasefit.errors import DataError, ModelError, PhasefitWarning
from phasefit.runs.trained_texts import SEEN, read_seen
from tiny import make_table

TEXTS, LABELS = make_table(60)


def test_tfidf_uses_the_weights_of_rows() -> None:
    def outputs(weights: np.ndarray | None) -> np.ndarray:
        return TextClassifier("tfidf").fit(TEXTS, LABELS, sample_weight=weights).predict_proba(TEXTS)

    plain, uneven = outputs(None), np.where(np.asarray(LABELS) == LABELS[0], 9.0, 1.0)
    assert np.array_equal(outputs(np.full(60, 2.0)), plain)
    assert not np.allclose(outputs(uneven), plain)


def test_weights_that_are_zero_on_all_training_rows() -> None:
    rows = list(zip(TEXTS, LABELS, strict=True))
    held_out = ([text for text, _ in rows[:10]], [label for _, label in rows[:10]])
    with pytest.raises(DataError, match="sample_weight"):
        TextClassifier("tfidf").fit(TEXTS[10:], LABELS[10:], validation=held_out, sample_weight=np.zeros(50))


def test_settings_of_a_phase_that_trains_only_the_head(tiny_folder: Path) -> None:
    settings = {"finetune.epochs": 1, "contrast.max_steps": 1}
    classifier = TextClassifier("few-shot", model=str(tiny_folder), settings=settings)
    with pytest.warns(PhasefitWarning, match="finetune trains only the head on a frozen encoder, so epochs change"):
        classifier.fit(TEXTS, LABELS)


def test_a_run_that_does_not_exist_is_not_looked_up_on_the_hub() -> None:
    with pytest.raises(ModelError, match="there is no folder 'm9'"):
        TextClassifier.load("m9")


def test_hashes_of_another_shape_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"texts": np.zeros((2, 2))}, tmp_path / SEEN)
    with pytest.raises(ModelError, match="it has no list of hashes"):
        read_seen(tmp_path)
