"""What comes in and goes out: results are never lost, streams may be closed or pipes, formulas can be escaped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fake_run import write_fake_run
from phasefit.data.io.frames import read_frame, write_frame
from phasefit.files import system

MIXED = '{"text": "one", "size": 1}\n{"text": "two", "size": "large"}\n'


@pytest.mark.parametrize("command", ["predict", "embed"])
def test_a_column_that_parquet_cannot_hold_is_refused_before_the_work(
    phasefit, model, install, sentence, tmp_path, command
):
    install("phasefit.models.storage", load_model=lambda *args, **options: pytest.fail("the model was loaded"))
    (tmp_path / "in.jsonl").write_text(MIXED)
    words = (command, "run", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.parquet"))
    message = sentence(phasefit(*words))
    assert "out.parquet: the column 'size' cannot be written as Parquet" in message
    assert "a number and a text" in message
    assert ".jsonl" in message
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("value", [{}, 2**70, [1, "a"]])
def test_other_values_that_parquet_cannot_hold_are_refused_too(phasefit, model, sentence, tmp_path, value):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "one", "odd": value}) + "\n")
    words = ("predict", "run", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.parquet"))
    assert "the column 'odd' cannot be written as Parquet" in sentence(phasefit(*words))


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_other_formats_hold_such_a_column(phasefit, model, tmp_path, ending):
    (tmp_path / "in.jsonl").write_text(MIXED)
    assert phasefit("predict", "run", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / f"out.{ending}")).exit_code == 0


def test_lists_objects_and_missing_values_can_be_parquet(phasefit, model, tmp_path):
    rows = [{"text": "one", "many": [1, 2], "in": {"a": 1}, "n": None}, {"text": "two", "many": None, "n": 3}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("predict", "run", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.parquet"))
    assert phasefit(*words).exit_code == 0


def full_disk(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Writing a file in these folders fails."""
    write = system.write

    def failing(path, fill):
        if path.parent in folders:
            raise OSError(28, "No space left on device")
        write(path, fill)

    monkeypatch.setattr(system, "write", failing)


@pytest.mark.parametrize(("command", "ending"), [("predict", "csv"), ("embed", "npy"), ("embed", "parquet")])
def test_a_full_disk_loses_nothing(phasefit, model, sentence, tmp_path, monkeypatch, command, ending):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "in.csv").write_text("text\none\ntwo\n")
    full_disk(monkeypatch, tmp_path / "full")
    target = tmp_path / "full" / f"out.{ending}"
    message = sentence(phasefit(command, "run", str(tmp_path / "in.csv"), "-o", str(target)))
    assert message.startswith(f"{target} cannot be written: No space left on device; the result is saved as ")
    saved = Path(message.partition("saved as ")[2].removesuffix(" instead"))
    assert saved.parent.parent == tmp_path / "temporary"
    assert len(np.load(saved) if ending == "npy" else read_frame(saved)) == 2
    assert not [*(tmp_path / "full").iterdir()]


def test_what_the_format_cannot_hold_after_all_is_saved_next_to_it(phasefit, model, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr("phasefit.data.io.frames.check_columns", lambda frame, path: None)
    (tmp_path / "in.jsonl").write_text(MIXED)
    (tmp_path / "out.jsonl").write_text("of the user")
    message = sentence(phasefit("predict", "run", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.parquet")))
    assert message.endswith(f"the result is saved as {tmp_path / 'out-2.jsonl'} instead")
    assert read_frame(tmp_path / "out-2.jsonl")["size"].tolist() == [1, "large"]
    assert (tmp_path / "out.jsonl").read_text() == "of the user"


def test_if_no_place_is_left_that_is_reported(phasefit, model, sentence, tmp_path, monkeypatch):
    (tmp_path / "in.csv").write_text("text\none\n")
    monkeypatch.setattr(system, "write", lambda path, fill: (_ for _ in ()).throw(OSError(28, "No space left")))
    message = sentence(phasefit("predict", "run", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv")))
    assert message.endswith("cannot be written: No space left; the result could not be saved anywhere else either")


def test_an_evaluation_that_cannot_be_written_is_printed_and_saved(phasefit, model, install, tmp_path, monkeypatch):
    install("phasefit.runs.evaluation.score", score=lambda *args: {"rows": 2, "accuracy": 0.5})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "in.csv").write_text("text,label\none,good\ntwo,good\n")
    (tmp_path / "out").mkdir()
    full_disk(monkeypatch, tmp_path / "out")
    result = phasefit("evaluate", "run", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out"), "--json")
    assert result.exit_code == 2, result.output
    assert json.loads(result.stdout) == {"rows": 2, "accuracy": 0.5}
    saved = Path(result.stderr.partition("saved as ")[2].strip().removesuffix(" instead"))
    assert len(read_frame(saved)) == 2


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1"]
NO_FORMULAS = ["plain", "-5", "+3.5e2", "a=b", "", "-", "'=1"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_formulas_are_escaped_on_request(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    frame = pd.DataFrame({"=name": [*FORMULAS, *NO_FORMULAS], "number": -1.0})
    write_frame(frame, path)
    assert read_frame(path).iloc[:, 0].tolist() == frame["=name"].tolist(), "unchanged by default"
    write_frame(frame, path, escape_formulas=True)
    written = read_frame(path)
    assert list(written.columns) == ["'=name", "number"]
    unchanged = [text for text in NO_FORMULAS if text != "-"]
    assert written.iloc[:, 0].tolist()[: len(FORMULAS)] == [f"'{text}" for text in FORMULAS]
    assert [text for text in written.iloc[len(FORMULAS) :, 0] if text != "'-"] == unchanged
    assert set(written["number"]) == {"-1.0"}


@pytest.mark.parametrize("command", ["predict", "embed"])
def test_commands_escape_formulas(phasefit, model, sentence, tmp_path, command):
    (tmp_path / "in.csv").write_text("text\n=1+1\n")
    words = (command, "run", str(tmp_path / "in.csv"), "--escape-formulas", "-o")
    assert phasefit(*words, str(tmp_path / "out.csv")).exit_code == 0
    assert read_frame(tmp_path / "out.csv")["text"].tolist() == ["'=1+1"]
    assert "applies to CSV and TSV" in sentence(phasefit(*words, str(tmp_path / "out.jsonl")))


def test_evaluate_escapes_formulas(phasefit, model, install, tmp_path):
    install("phasefit.runs.evaluation.score", score=lambda *args: {"rows": 1, "accuracy": 1.0, "confusion": None})
    install("phasefit.report.pictures", draw_scores=lambda *args, **options: ["classes.png"])
    (tmp_path / "in.csv").write_text("text,label\n=1+1,good\n")
    words = ("evaluate", "run", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out"), "--escape-formulas")
    result = phasefit(*words)
    assert result.exit_code == 0, result.output
    assert read_frame(tmp_path / "out" / "predictions.csv")["text"].tolist() == ["'=1+1"]


# --- pipes and closed streams -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
@pytest.mark.parametrize(
    ("name", "options", "content"),
    [
        ("pipe", (), "one\ntwo\n"),
        ("pipe", ("--format", "csv"), "id,text\n1,one\n2,two\n"),
        ("pipe.jsonl", (), '{"text": "one"}\n{"text": "two"}\n'),
        ("pipe.txt", (), "one\ntwo\n"),
    ],
)
def test_a_named_pipe_is_read(phasefit, model, tmp_path, name, options, content):
    os.mkfifo(tmp_path / name)
    writer = threading.Thread(target=(tmp_path / name).write_text, args=(content,), daemon=True)
    writer.start()
    result = phasefit("predict", "run", str(tmp_path / name), *options, "-o", str(tmp_path / "out.csv"))
    writer.join(10)
    assert result.exit_code == 0, result.output
    assert read_frame(tmp_path / "out.csv")["text"].tolist() == ["one", "two"]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="the platform has no /dev/fd")
def test_process_substitution_is_read(phasefit, model, tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"one\ntwo\n")
    os.close(writer)
    try:
        result = phasefit("predict", "run", f"/dev/fd/{reader}", "-o", str(tmp_path / "out.csv"))
    finally:
        os.close(reader)
    assert result.exit_code == 0, result.output
    assert len(read_frame(tmp_path / "out.csv")) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_other_commands_refuse_pipes_in_one_sentence(phasefit, model, sentence, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for words in (("datasets",), ("evaluate", "run"), ("train", "--quiet")):
        assert "is a pipe or a device" in sentence(phasefit(*words, str(tmp_path / "pipe.csv")))


PROGRAM = """
import sys
from types import ModuleType
sys.path.insert(0, {tests!r})
from conftest import FakeModel
for name, content in {{"phasefit.models.storage": {{"load_model": lambda *args, **options: FakeModel()}},
                      "phasefit.training.device": {{"set_threads": lambda count: 1}}}}.items():
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__dict__.update(content)
from phasefit.cli import main
main()
"""


def shell(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    """Run `phasefit` with a fake model in a shell."""
    write_fake_run(folder / "run")
    (folder / "in.csv").write_text("text\none\n")
    (folder / "main.py").write_text(PROGRAM.format(tests=str(Path(__file__).parent)))
    paths = os.pathsep.join([str(Path(__file__).parents[2] / "src"), str(Path(__file__).parents[1])])
    command = f"{sys.executable} main.py {words}"
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/bin/sh").exists(), reason="the platform has no shell")
def test_closed_streams_get_one_sentence(tmp_path):
    for words, message in {
        "predict run in.csv >&-": "standard output is closed, so the result cannot be printed; write it to a file",
        "predict run - <&-": "standard input is closed; give FILE, or pipe texts into it",
    }.items():
        result = shell(tmp_path, words)
        assert result.returncode == 2, result.stderr
        assert result.stderr.startswith(f"phasefit: {message}"), result.stderr
        assert len(result.stderr.splitlines()) == 1
    closed = shell(tmp_path, "predict run in.csv -o out.csv <&- >&- 2>&-")
    assert closed.returncode == 0
    assert len(read_frame(tmp_path / "out.csv")) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the platform has no /dev/full")
def test_a_full_standard_output_loses_nothing(tmp_path):
    result = shell(tmp_path, "predict run in.csv > /dev/full")
    assert result.returncode == 2, result.stderr
    expected = "phasefit: standard output cannot be written: No space left on device; the result is saved as "
    assert result.stderr == f"{expected}predictions.jsonl instead\n"
    assert len(read_frame(tmp_path / "predictions.jsonl")) == 1
