"""A process that predicts shards keeps little compiled code, and returns what it has freed."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pandas as pd
import pytest

from phasefit.process_memory import PRIMITIVES, VARIABLE, return_free_memory
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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no malloc_trim")
def test_freed_memory_is_returned() -> None:
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    pieces = [bytearray(50_000) for _ in range(1000)]  # too small to be allocated apart
    last = bytearray(50_000)
    before = resident()
    del pieces
    assert return_free_memory()
    assert resident() < before - 30_000_000
    assert len(last) == 50_000
