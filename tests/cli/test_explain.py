"""`phasefit explain`: tables in the terminal, columns of files, and what is refused before the work."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from phasefit.data.io.frames import write_frame
from phasefit.data.labels import label_space

FRAME = pd.DataFrame({"id": ["1", "2", "3"], "text": ["ab cde", "", "a 'quoted', text"]})


def test_say(phasefit, model) -> None:
    result = phasefit("explain", "run", "--say", "[red]ab \x1b[31mabc film", "--say", "  x")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "[red]ab" in result.stdout
    assert "log-odds" in result.stdout
    assert "Test of these words: deleting the most important word" in result.stdout
    assert "\x1b" not in result.stdout
    why = "the run 'run' does not state which table it was trained on"
    assert f"nearest training texts are left out: {why}" in result.stderr


def test_a_label_can_be_chosen(phasefit, model, sentence) -> None:
    result = phasefit("explain", "run", "--say", "ab cd", "--label", "[bold]", "--nearest", "0", "-q")
    assert "[bold] 0." in result.stdout
    assert result.stderr == ""
    assert "did you mean 'good'" in sentence(
        phasefit("explain", "run", "--say", "x", "--label", "goo", "--nearest", "0")
    )


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files(phasefit, model, tmp_path: Path, ending: str) -> None:
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    write_frame(FRAME, source)
    result = phasefit("explain", "run", str(source), "-o", str(target))
    assert result.exit_code == 0, (result.output, result.exception)
    readers = {"csv": pd.read_csv, "jsonl": lambda path: pd.read_json(path, lines=True), "parquet": pd.read_parquet}
    frame = readers[ending](target)
    assert list(frame.columns) == ["id", "text", "prediction", "probability", "explained", "words"]
    assert frame["explained"].tolist()[::2] == frame["prediction"].tolist()[::2]
    assert pd.isna(frame["words"][1])
    words = json.loads(frame["words"][0])
    assert [(word["start"], word["end"], word["text"]) for word in words] == [(0, 2, "ab"), (3, 6, "cde")]
    assert all(isinstance(word["weight"], float) for word in words)
    assert "2 explanations tested: deleting the most important word" in result.stderr


def test_standard_output_and_a_clash(phasefit, model, sentence, tmp_path: Path) -> None:
    frame = pd.read_csv(io.StringIO(phasefit("explain", "run", "-", input="one line\nlast\n").stdout))
    assert list(frame.columns) == ["text", "prediction", "probability", "explained", "words"]
    (tmp_path / "in.csv").write_text("text,words\nhello,1\n")
    assert "--prefix" in sentence(phasefit("explain", "run", str(tmp_path / "in.csv")))
    assert "new_words" in phasefit("explain", "run", str(tmp_path / "in.csv"), "--prefix", "new_").stdout


def test_several_labels_are_by_name(phasefit, model) -> None:
    model.space = label_space([frozenset({"x"}), frozenset({"y", "z"})])
    frame = pd.read_csv(io.StringIO(phasefit("explain", "run", "-", input="ab cd\n").stdout))
    assert list(json.loads(frame["words"][0])) == frame["explained"][0].split("|")


def test_scores(phasefit, model) -> None:
    model.space = label_space([0.5, 1.5])
    model.predict_outputs = lambda texts, **_: pd.Series(texts).str.len().to_numpy(float)[:, None]
    result = phasefit("explain", "run", "-", input="ab cd\n")
    frame = pd.read_csv(io.StringIO(result.stdout))
    assert list(frame.columns) == ["text", "prediction", "words"]
    assert [word["weight"] for word in json.loads(frame["words"][0])] == [3, 3]
    assert "score 5.000" in phasefit("explain", "run", "--say", "ab cd", "--nearest", "0").stdout
    assert "remove --label" in phasefit("explain", "run", "--say", "ab", "--label", "x", "--nearest", "0").stderr


def test_what_is_refused(phasefit, model, sentence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--say prints tables" in sentence(phasefit("explain", "run", "x.csv", "--say", "x"))
    assert "there is no run" in sentence(phasefit("explain", "nowhere", "--say", "x"))
    (tmp_path / "out.csv").write_text("precious")
    assert "--overwrite" in sentence(phasefit("explain", "run", "-", "-o", str(tmp_path / "out.csv"), input="x\n"))
    monkeypatch.setattr("phasefit.explain.captum_gradients.is_installed", lambda: False)
    line = sentence(phasefit("explain", "run", "--say", "x", "--method", "gradients"))
    assert "pip install 'phasefit[explain]'" in line


def test_no_colour_and_colour(phasefit, model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = phasefit("explain", "run", "--say", "ab cde f", "--nearest", "0", "-q").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    plain = phasefit("explain", "run", "--say", "ab cde f", "--nearest", "0", "-q").stdout
    blue = re.compile(r"\x1b\[[\d;]*(34|44)m")
    assert blue.search(coloured)
    assert not blue.search(plain)
    assert "++" in plain or "--" in plain
