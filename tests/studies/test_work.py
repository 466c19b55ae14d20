"""Scoring encoders on pairs of texts, as studies do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from phasefit.models.storage import load_model
from phasefit.studies.cell import Cell
from phasefit.studies.work import carry_out, pair_scores
from specs import run_spec


def test_pairs_of_a_dataset_without_a_training_set(tiny_folder: Path, tmp_path: Path) -> None:
    words, scores = ["song", "rain", "pizza", "hotel"], [1.5, 9.0, 3.0, 0.5]
    rows = "".join(f"{word},album,{score}\n" for word, score in zip(words, scores, strict=True))
    (tmp_path / "simlex999").mkdir()
    (tmp_path / "simlex999" / "test.csv").write_text(f"text_a,text_b,label\n{rows}")
    spec = run_spec(data="words-en", data_dir=tmp_path)
    metrics, left_out = pair_scores(load_model(tiny_folder, "cpu"), "simlex999", spec)
    plain = SentenceTransformer(str(tiny_folder), device="cpu")
    cosines = plain.encode(words, normalize_embeddings=True) @ plain.encode("album", normalize_embeddings=True)
    assert metrics["rows"] == 4
    assert metrics["spearman"] == pytest.approx(spearmanr(scores, cosines).statistic)
    without = [spearmanr(np.delete(scores, row), np.delete(cosines, row)).statistic for row in range(4)]
    assert sorted(left_out["spearman"]) == pytest.approx(sorted(without))  # the interval covers the choice of pairs


def test_a_cell_scored_on_pairs_records_that_all_seeds_share_them(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("text\nsong\nrain\n")
    (tmp_path / "pairs.csv").write_text(
        "text_a,text_b,label\nsong,album,1.5\nrain,album,9\npizza,hotel,3\nrain,song,4\n"
    )
    spec = run_spec(data=tmp_path / "texts.csv", recipe="untrained", model=str(tiny_folder))
    cell = Cell("words", "before", spec, pairs=str(tmp_path / "pairs.csv"))
    result = carry_out(cell, tmp_path / "cell")
    assert result["own_test"] is True
    assert result["rows"] == {"test": 4}
    assert len(result["replicates"]["spearman"]) == 4
