from __future__ import annotations

import io

import pytest
from rich.console import Console

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


def test_a_terminal_shows_the_rate_and_the_time_left_of_slow_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(
        "phasefit.cli.row_progress.stderr",
        lambda: Console(file=shown, force_terminal=True, width=120, color_system=None),
    )
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with RowProgress("predicting") as progress:
        progress.start(total=10_000, done=1_000)
        for _ in range(3):
            now += 100.0  # Rich forgets what is older than 30 seconds
            progress.advance(2_500)
    assert "8500/10000 25 rows/s, 60 s left" in shown.getvalue()


def test_reading_many_files_prints_a_line_per_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with RowProgress("predicting") as progress:
        for number in range(5):
            progress.reading(f"{number}.csv", number, 5)
            now += 25.0
    assert capsys.readouterr().err == "reading 3.csv (4 of 5)\n"


def test_quiet_prints_only_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with RowProgress("predicting", quiet=True) as progress:
        progress.start(10, 0)
        progress.note("a.csv: separated by tabs")
        progress.note("warning: 1 of 10 texts is cut")
    assert capsys.readouterr().err == "phasefit: warning: 1 of 10 texts is cut\n"
