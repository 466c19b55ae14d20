from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from phasefit.data import read_table
from phasefit.data.io.frames import write_frame
from phasefit.data.labels import MultiLabels
from phasefit.kinds.decision import Decision
from phasefit.predicting.columns import add_predictions


@pytest.mark.parametrize(
    ("names", "cell"),
    [(["a", "b", "c"], "a|b"), (["a|b", 'it\'s "c"', "d, \\ é\n"], '["a|b", "it\'s \\"c\\""]')],
    ids=["plain", "bars"],
)
def test_several_labels_are_read_as_they_were_written(names: list[str], cell: str, tmp_path: Path) -> None:
    space = MultiLabels(names)
    chosen = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    frame = pd.DataFrame({"text": ["one", "two", "three", "four"]})
    made = add_predictions(frame, chosen * 0.9, space, Decision(thresholds=(0.5,) * 3))
    assert made["prediction"][0] == cell
    write_frame(made, tmp_path / "predicted.csv")
    again = read_table(str(tmp_path / "predicted.csv"), text="text", label=["prediction"], kind="multi")
    assert list(again.labels or ()) == space.sets(chosen)
