"""Predictions for batches of columns equal those of the model, called directly and by Ray Data."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import phasefit_runtime
from graphs import task, write_folder
from phasefit_runtime import BatchPredictor, InputError

TEXTS = ["red cat", "good dog one two", "blue", "bad bad three unknown"]
RAY_DATA = ("ray", "pandas", "pyarrow", "fsspec")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path, {"default": task("single")})


def test_columns_of_a_batch(folder: Path) -> None:
    batch = {"id": np.arange(4), "text": np.array(TEXTS)}
    added = BatchPredictor(folder, prefix="new_")(batch)
    model = phasefit_runtime.load(folder, threads=1)
    assert list(added) == ["id", "text", "new_prediction", "new_probability"]
    assert added["new_prediction"].tolist() == model.predict(TEXTS)
    np.testing.assert_allclose(added["new_probability"], model.predict_proba(TEXTS).max(axis=1), atol=1e-6)


@pytest.mark.parametrize("kind", ["multi", "tree", "number"])
def test_other_kinds(tmp_path: Path, kind: str) -> None:
    added = BatchPredictor(write_folder(tmp_path, {"default": task(kind)}))({"text": np.array(TEXTS, dtype=object)})
    answers = phasefit_runtime.load(tmp_path, threads=1).predict(TEXTS)
    for cell, answer in zip(added["prediction"].tolist(), answers, strict=True):
        if kind == "number":
            assert cell == pytest.approx(answer)
        elif kind == "tree":
            assert tuple(cell.split("/")) == answer
        else:
            assert set(filter(None, cell.split("|"))) == {str(one) for one in answer}


def test_wrong_batches(folder: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'text'; known: body"):
        BatchPredictor(folder)({"body": np.array(["red"])})
    with pytest.raises(InputError, match="already has the column 'prediction'; use prefix"):
        BatchPredictor(folder)({"text": np.array(["red"]), "prediction": np.array(["x"])})
    with pytest.raises(InputError, match="text 1 is not a string"):
        BatchPredictor(folder)({"text": np.array([None], dtype=object)})


@pytest.mark.long
@pytest.mark.skipif(not all(map(find_spec, RAY_DATA)), reason="Ray Data needs ray, pandas, pyarrow and fsspec")
@pytest.mark.filterwarnings("ignore")  # of Ray Data itself
def test_map_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.setenv(name, "0")
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    try:
        rows = [{"id": row, "text": TEXTS[row % 4]} for row in range(40)]
        predicted = ray.data.from_items(rows, override_num_blocks=4).map_batches(
            BatchPredictor, fn_constructor_args=(os.fspath(folder),), batch_format="numpy", batch_size=8, concurrency=1
        )
        answers = {row["id"]: row["prediction"] for row in predicted.take_all()}
    finally:
        ray.shutdown()
    model = phasefit_runtime.load(folder, threads=1)
    assert answers == dict(enumerate(model.predict([row["text"] for row in rows])))
