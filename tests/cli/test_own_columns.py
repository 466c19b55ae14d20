"""A run remembers the columns it was trained on, and what it was trained on."""

from __future__ import annotations

import csv
import json
import re
import stat
from pathlib import Path

import pytest

from tiny import make_table, read_json

QUICK = ["-r", "finetune", "-s", "finetune.max_steps=2", "-s", "finetune.min_steps=1", "-q"]


def write(path: Path, head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    texts, labels = make_table(60)
    rows = [(f"{number}", text, "x", label) for number, (text, label) in enumerate(zip(texts, labels, strict=True))]
    return write(tmp_path / "notes.csv", ("id", "Äußerung", "other", "Gefühl"), rows)


@pytest.fixture
def run(phasefit, table: Path, tiny_folder: Path, tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr("phasefit.report.run.write_report", lambda *_, **__: None)
    out = tmp_path / "run"
    columns = ["--text", "Äußerung", "--label", "Gefühl"]
    result = phasefit("train", str(table), *columns, "-m", str(tiny_folder), "-o", str(out), *QUICK)
    assert result.exit_code == 0, result.stderr
    return out


def test_they_are_taken_again(phasefit, run: Path, table: Path, tmp_path: Path) -> None:
    assert read_json(run / "phasefit.json")["data"]["columns"] == {
        "text": "Äußerung",
        "labels": ["Gefühl"],
    }
    new = write(tmp_path / "new.csv", ("no", "Äußerung"), [("1", "a song")])
    predicted = phasefit("predict", str(run), str(new), "-q")
    assert predicted.exit_code == 0, predicted.stderr
    assert predicted.stdout.startswith("no,Äußerung,prediction")
    assert phasefit("embed", str(run), str(new), "-o", str(tmp_path / "v.npy"), "-q").exit_code == 0
    scored = phasefit("evaluate", str(run), str(table), "--json", "-q")
    assert scored.exit_code == 0, scored.stderr
    assert json.loads(scored.stdout)["rows"] == 60
    assert re.search(r"\d+ of the 60 texts in 'notes' were used to train \S", " ".join(scored.stderr.split()))
    assert "say little about new ones" in " ".join(scored.stderr.split())


def test_a_table_with_other_columns_is_read_by_its_own(phasefit, run: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.csv", ("text", "label"), [("a new song", "music"), ("some fresh rain", "weather")])
    scored = phasefit("evaluate", str(run), str(other), "--json", "-q")
    assert scored.exit_code == 0, scored.stderr
    assert scored.stderr == ""


def test_the_weights_are_for_all_to_read_who_may_read_the_rest(run: Path) -> None:
    modes = {stat.S_IMODE(path.stat().st_mode) for path in run.rglob("*") if path.is_file()}
    assert len(modes) == 1, modes
