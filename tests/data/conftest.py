"""Shared fixtures of the data tests."""

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
    """Write a file with this name, gzipped if it ends in .gz."""

    def write(name: str, content: str | bytes) -> Path:
        raw = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(raw) if name.lower().endswith(".gz") else raw)
        return path

    return write


@pytest.fixture
def shared_data() -> Path:
    """The folder of PHASEFIT_DATA; tests on datasets that are not packaged are skipped without it."""
    if not os.environ.get("PHASEFIT_DATA"):
        pytest.skip("PHASEFIT_DATA is not set: datasets that are not packaged cannot be tested")
    return Path(os.environ["PHASEFIT_DATA"])


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine with only the packaged datasets."""
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
