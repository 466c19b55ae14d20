"""What the data tests share: files written from a few lines."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("data", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("data")

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of this name; gzipped if its ending says so."""

    def write(name: str, content: str | bytes) -> Path:
        raw = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.lower().endswith(".gz") else raw)
        return path

    return write


@pytest.fixture
def shared_data() -> Path:
    """The folder of PHASEFIT_DATA; tests on sets that the package may not ship are skipped without it."""
    if not os.environ.get("PHASEFIT_DATA"):
        pytest.skip("PHASEFIT_DATA is not set: datasets that are not packaged cannot be tried")
    return Path(os.environ["PHASEFIT_DATA"])


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has only what is packaged."""
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
