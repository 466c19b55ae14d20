"""Scoring encoders on pairs of texts, as studies do."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from phasefit.models.storage import load_model
from phasefit.studies.work import pair_scores
from specs import run_spec


def test_pairs_of_a_dataset_without_a_training_set(tiny_folder: Path, tmp_path: Path) -> None:
    words, scores = ["song", "rain", "pizza", "hotel"], [1.5, 9.0, 3.0, 0.5]
    rows = "".join(f"{word},album,{score}\n" for word, score in zip(words, scores, strict=True))
    (tmp_path / "simlex999").mkdir()
    (tmp_path / "simlex999" / "test.csv").write_text(f"text_a,text_b,label\n{rows}")
    spec = run_spec(data="words-en", data_dir=tmp_path)
    metrics = pair_scores(load_model(tiny_folder, "cpu"), "simlex999", spec)
    plain = SentenceTransformer(str(tiny_folder), device="cpu")
    cosines = plain.encode(words, normalize_embeddings=True) @ plain.encode("album", normalize_embeddings=True)
    assert metrics["rows"] == 4
    assert metrics["spearman"] == pytest.approx(spearmanr(scores, cosines).statistic)
