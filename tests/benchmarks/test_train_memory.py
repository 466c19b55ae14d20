"""The benchmark of training on large tables: its tables, and on a small one its results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from phasefit.data import read_table

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import train_memory

    return train_memory


def test_both_formats_have_the_same_rows(benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "AT_ONCE", 30)
    tables = []
    for ending in benchmark.FORMATS:
        benchmark.make_table(tmp_path / f"table.{ending}", 70)
        tables.append(read_table(tmp_path / f"table.{ending}"))
    one, other = tables
    assert len(one) == 70
    assert list(one.texts) == list(other.texts)
    assert list(one.labels or ()) == list(other.labels or ())
    assert {len(text.split()) for text in one.texts} <= set(range(6, 14))
    assert len(set(one.texts)) > 60


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux only")
def test_a_small_table_is_measured_and_earlier_sizes_are_kept(benchmark, tmp_path: Path) -> None:
    (tmp_path / benchmark.RESULTS).write_text("rows,format,input_mb,peak_mb,seconds\n7,parquet,0.1,9,1.5\n")
    command = [sys.executable, BENCHMARKS / "train_memory.py", "--rows", "300", "--steps", "2", "--out", tmp_path]
    subprocess.run(list(map(str, command)), capture_output=True, check=True)
    first, cell = benchmark.read(tmp_path / benchmark.RESULTS)
    assert first == {"rows": 7, "format": "parquet", "input_mb": 0.1, "peak_mb": 9, "seconds": 1.5}
    assert cell["rows"] == 300
    assert 200 < cell["peak_mb"] < 4000
    assert "| 300 | parquet |" in (tmp_path / "train_memory.md").read_text()
