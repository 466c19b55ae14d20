from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

TABLE = "text,id\nab,1\nabc,2\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(TABLE)
    return str(path)


def test_an_array(phasefit, model, source, tmp_path):
    out = tmp_path / "vectors.npy"
    assert phasefit("embed", "run", source, "-o", str(out)).exit_code == 0
    vectors = np.load(out, allow_pickle=False)
    assert vectors.tolist() == [[2, 0.5], [3, 0.5]]
    assert vectors.dtype == np.float32
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "vectors.npy"]


def test_parquet_keeps_the_columns(phasefit, model, source, tmp_path):
    out = tmp_path / "vectors.parquet"
    assert phasefit("embed", "run", source, "-o", str(out)).exit_code == 0
    frame = pd.read_parquet(out)
    assert list(frame.columns) == ["text", "id", "embedding"]
    assert [list(row) for row in frame["embedding"]] == [[2, 0.5], [3, 0.5]]


def test_csv_holds_json(phasefit, model, source, tmp_path):
    out = tmp_path / "vectors.csv"
    assert phasefit("embed", "run", source, "-o", str(out)).exit_code == 0
    assert [json.loads(row) for row in pd.read_csv(out)["embedding"]] == [[2, 0.5], [3, 0.5]]


def test_json_lines_hold_lists(phasefit, model, source, tmp_path):
    out = tmp_path / "vectors.jsonl"
    assert phasefit("embed", "run", source, "-o", str(out)).exit_code == 0
    assert json.loads(out.read_text().splitlines()[0])["embedding"] == [2, 0.5]


def test_what_is_refused(phasefit, model, source, tmp_path, sentence):
    assert "npz" in sentence(phasefit("embed", "run", source, "-o", str(tmp_path / "x.npz")))
    (tmp_path / "x.npy").write_text("precious")
    assert "--overwrite" in sentence(phasefit("embed", "run", source, "-o", str(tmp_path / "x.npy")))
    (tmp_path / "has.csv").write_text("text,embedding\na,b\n")
    assert "'embedding'" in sentence(phasefit("embed", "run", str(tmp_path / "has.csv"), "-o", str(tmp_path / "y.csv")))
