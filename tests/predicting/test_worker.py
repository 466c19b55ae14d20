"""One shard with every label kind, in every format, compared with the columns of a whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from phasefit.data.io.dialect import Dialect
from phasefit.data.io.frames import read_frame, write_frame
from phasefit.data.labels import label_space
from phasefit.data.table_reading import Options as TableOptions
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.predicting.columns import add_predictions
from phasefit.predicting.inputs import input_file
from phasefit.predicting.plan import Planning, plan_file
from phasefit.predicting.worker import Job, Options, Worker

SPACES: dict[str, Any] = {
    "names": label_space(["b", "a", "c"]),
    "numbers": label_space([3, 1, 2]),
    "truth": label_space([True, False]),
    "sets": label_space([frozenset({"a"}), frozenset({"b", "c"})]),
    "paths": label_space([("a", "b"), ("a", "c"), ("d", "e")]),
    "scores": label_space([0.5, 1.5, 2.5]),
    "levels": label_space([0.0, 1.0, 2.0], "score", levels=["bad", "fair", "good"]),
}
TEXTS = ["x", "yy", "", "zzz", "w" * 9, "", "", "v" * 4]


class Counting:
    """Outputs that follow from the length of a text."""

    def __init__(self, space: Any, reject_below: float) -> None:
        self.space, self.reject_below = space, reject_below

    def known_task(self, task: str | None) -> str:
        return "default"

    def space_of(self, task: str) -> Any:
        return self.space

    def decision(self, task: str) -> Decision:
        return Decision(reject_below=self.reject_below)

    def predict_outputs(self, texts: list[str], **_: Any) -> np.ndarray:
        width = len(self.space) if kind_of(self.space).has_classes else 1
        lengths = np.array([[len(text) + place for place in range(width)] for text in texts], dtype=float)
        outputs = np.abs(np.sin(lengths))
        return (
            outputs / outputs.sum(axis=1, keepdims=True) if kind_of(self.space).name in ("single", "tree") else outputs
        )


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("probabilities", ["all", "none", 2])
def test_every_kind(tmp_path: Path, name: str, ending: str, probabilities: Any) -> None:
    space = SPACES[name]
    if isinstance(probabilities, int) and not kind_of(space).has_classes:
        return
    frame = pd.DataFrame({"text": TEXTS, "n": range(len(TEXTS))})
    write_frame(frame, tmp_path / f"in.{ending}")
    asked = Planning(3, False, Dialect(), TableOptions(need_labels=False), ending == "parquet")
    planned = plan_file(0, input_file(str(tmp_path / f"in.{ending}")), asked)
    reject_below = 0.5 if not kind_of(space).no_reject else 0.0
    model: Any = Counting(space, reject_below)
    options = Options(probabilities=probabilities)
    job = Job("predict", "", 1, (planned.plan,), options, tmp_path / "out", ending)
    (tmp_path / "out").mkdir()
    worker = Worker(job, model)
    results = [worker.execute(shard) for shard in reversed(planned.shards)]  # in any order
    worker.close()
    assert sum(result.blank for result in results) == 3
    parts = [read_frame(path) for path in sorted((tmp_path / "out").iterdir())]
    if ending == "parquet":
        from pyarrow import parquet

        schemas = [parquet.read_schema(path) for path in sorted((tmp_path / "out").iterdir())]
        assert all(schema.equals(schemas[0]) for schema in schemas)
    blank = np.array([not text for text in TEXTS])
    outputs = model.predict_outputs([text for text in TEXTS if text])
    whole = read_frame(tmp_path / f"in.{ending}")
    expected = add_predictions(whole, outputs, space, model.decision(""), "", probabilities, blank)
    write_frame(expected, tmp_path / f"whole.{ending}")
    assert cells(pd.concat(parts, ignore_index=True)) == cells(read_frame(tmp_path / f"whole.{ending}"))


def cells(frame: pd.DataFrame) -> dict[str, list[object]]:
    return frame.astype(object).where(frame.notna(), None).to_dict("list")
