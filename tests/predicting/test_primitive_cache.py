"""A process that predicts shards keeps little of the code that oneDNN compiles for each shape of a batch."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from phasefit.runs.primitive_cache import PRIMITIVES, VARIABLE
from sharded import invoke, save_small


@pytest.mark.parametrize("given", [None, "7"])
def test_shards_bound_the_cache_unless_the_environment_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(VARIABLE, given)
    save_small(tmp_path / "model")
    pd.DataFrame({"text": ["good day", "bad day"]}).to_csv(tmp_path / "in.csv", index=False)
    result = invoke("predict", tmp_path / "model", tmp_path / "in.csv", "-o", f"{tmp_path}/out/", "--quiet")
    assert result.exit_code == 0, result.output
    assert os.environ[VARIABLE] == (given or PRIMITIVES)
    monkeypatch.delenv(VARIABLE)
