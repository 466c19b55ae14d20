from __future__ import annotations

import pytest

from phasefit.cli.row_progress import RowProgress


def test_lines_have_the_rate_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with RowProgress("predicting") as progress:
        progress.start(total=10_000, done=1_000)
        now = 30.0
        progress.advance(500)
        assert capsys.readouterr().err == ""
        now = 60.0
        progress.advance(500)
    assert capsys.readouterr().err == "predicting: 2,000 of 10,000 rows, 17 rows/s, 0:08 h left\n"


def test_quiet_prints_only_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with RowProgress("predicting", quiet=True) as progress:
        progress.start(10, 0)
        progress.note("a.csv: separated by tabs")
        progress.note("warning: 1 of 10 texts is cut")
    assert capsys.readouterr().err == "phasefit: warning: 1 of 10 texts is cut\n"
