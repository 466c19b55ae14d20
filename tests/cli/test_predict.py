from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fake_run import write_fake_run
from phasefit.data.io.frames import read_frame, write_frame
from phasefit.data.labels import label_space
from phasefit.kinds.decision import Decision

NEW = ["prediction", "probability", "probability_[bold]", "probability_good", "probability_ünïcode 🙂"]
FRAME = pd.DataFrame({"id": ["1", "2"], "text": ["ab", "a 'quoted', \"text\""], "extra": ["x", "y\nz"]})


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "csv.gz", "jsonl.gz"])
def test_every_format_in_and_out(phasefit, model, tmp_path, ending):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    write_frame(FRAME, source)
    result = phasefit("predict", "run", str(source), "-o", str(target))
    assert result.exit_code == 0, result.output
    frame = read_frame(target)
    assert list(frame.columns) == [*FRAME.columns, *NEW]
    assert frame[["id", "text", "extra"]].equals(read_frame(source))
    assert frame["prediction"].tolist() == [model.space.names[len(text) % 3] for text in FRAME["text"]]
    assert frame["probability"].astype(float).between(0.7, 0.9).all()
    assert "2 rows written" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


def test_csv_on_stdout_is_the_default(phasefit, model, tmp_path):
    source = tmp_path / "in.csv"
    write_frame(FRAME, source)
    result = phasefit("predict", "run", str(source), "--no-probabilities")
    assert list(pd.read_csv(io.StringIO(result.stdout)).columns) == ["id", "text", "extra", "prediction", "probability"]
    assert result.stderr == ""


def test_lines_from_stdin(phasefit, model):
    result = phasefit("predict", "run", "-", input="one line\r\nwith\u2028separator and, comma\nlast")
    frame = pd.read_csv(io.StringIO(result.stdout))
    assert frame["text"].tolist() == ["one line", "with\u2028separator and, comma", "last"]
    assert list(frame.columns) == ["text", *NEW]


def test_stdin_without_a_dash(phasefit, model):
    assert len(phasefit("predict", "run", input="one\ntwo\n").stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("csv", "id,text\n7,hello\n"),
        ("tsv", "id\ttext\n7\thello\n"),
        ("jsonl", json.dumps({"id": "7", "text": "hello"}) + "\n"),
    ],
)
def test_tables_from_stdin(phasefit, model, form, content):
    frame = pd.read_csv(io.StringIO(phasefit("predict", "run", "-", "--format", form, input=content).stdout))
    assert list(frame.columns[:2]) == ["id", "text"]
    assert frame["id"].tolist() == [7]


def test_a_lone_column_is_the_text(phasefit, model, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("whatever\nsome text\n")
    assert "some text" in phasefit("predict", "run", str(source)).stdout


def test_say(phasefit, model):
    result = phasefit("predict", "run", "--say", "[red]ab", "--say", "\x1b[31mabc")
    assert result.exit_code == 0
    assert "[red]ab" in result.stdout
    assert "[bold]" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_clash_names_the_prefix_option(phasefit, model, sentence, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("text,prediction\nhello,old\n")
    assert "--prefix" in sentence(phasefit("predict", "run", str(source)))
    result = phasefit("predict", "run", str(source), "--prefix", "new_")
    assert "new_prediction,new_probability,new_probability_[bold]" in result.stdout


def test_a_class_may_be_the_clash(phasefit, model, sentence, tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("text,probability_good\nhello,1\n")
    assert "'probability_good'" in sentence(phasefit("predict", "run", str(source)))
    assert phasefit("predict", "run", str(source), "--no-probabilities").exit_code == 0


def test_an_existing_file_is_kept(phasefit, model, sentence, tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text\nhello\n")
    target.write_text("precious")
    assert "--overwrite" in sentence(phasefit("predict", "run", str(source), "-o", str(target)))
    assert target.read_text() == "precious"
    assert phasefit("predict", "run", str(source), "-o", str(target), "--overwrite").exit_code == 0
    assert target.read_text().startswith("text,prediction")


@pytest.mark.parametrize("target", ["out.xlsx", "out", "no/such/folder/out.csv", "."])
def test_a_bad_target_is_refused_before_the_work(phasefit, model, install, sentence, tmp_path, target, monkeypatch):
    install("phasefit.models.storage", load_model=lambda *args, **options: pytest.fail("the model was loaded"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text\nhello\n")
    write_fake_run(tmp_path / "run")
    assert target in sentence(phasefit("predict", "run", "in.csv", "-o", target)) or "folder" in target


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"   \n \n", "empty"),
        (b"fine\nbro\xffken\n", "line 2"),
    ],
)
def test_bad_lines_from_stdin(phasefit, model, sentence, content, says):
    assert says in sentence(phasefit("predict", "run", "-", input=content))


def test_say_with_an_empty_text(phasefit, model, sentence):
    assert "--say, row 2" in sentence(phasefit("predict", "run", "--say", "x", "--say", " "))


def test_a_run_is_a_folder_here(phasefit, model, sentence):
    assert "no run 'nosuch'" in sentence(phasefit("predict", "nosuch", "--say", "x"))
    Path("runs/reviews").mkdir(parents=True)
    Path("runs/reviews/phasefit.json").write_text("{}")
    assert "did you mean 'runs/reviews'" in sentence(phasefit("evaluate", "runs/review", "snips"))


def test_bad_tables(phasefit, model, sentence, tmp_path):
    assert "no such file" in sentence(phasefit("predict", "run", str(tmp_path / "none.csv")))
    (tmp_path / "two.csv").write_text("a,b\n1,2\n")
    assert "--text" in sentence(phasefit("predict", "run", str(tmp_path / "two.csv")))
    assert "'c'" in sentence(phasefit("predict", "run", str(tmp_path / "two.csv"), "--text", "c"))
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"text\nhello\n")[:-9])
    assert "cut.csv.gz" in sentence(phasefit("predict", "run", str(tmp_path / "cut.csv.gz")))


def test_a_dataset_by_name(phasefit, model):
    result = phasefit("predict", "run", "snips")
    assert result.exit_code == 0
    assert len(pd.read_csv(io.StringIO(result.stdout))) == 328


def test_tree_labels_are_written_with_slashes(phasefit, model, tmp_path):
    from phasefit.data.labels import label_space

    model.space = label_space([("a", "x"), ("a", "y"), ("b", "x")])
    (tmp_path / "in.csv").write_text("text\nab\n")
    result = phasefit("predict", "run", str(tmp_path / "in.csv"))
    assert (
        result.stdout.splitlines()[0] == "text,prediction,probability,probability_a/x,probability_a/y,probability_b/x"
    )
    assert result.stdout.splitlines()[1].startswith("ab,b/x,")


def test_numbers_stay_numbers(phasefit, model, tmp_path):
    from phasefit.data.labels import label_space

    model.space = label_space([10, 20, 30])
    (tmp_path / "in.csv").write_text("text\nab\n")
    phasefit("predict", "run", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.jsonl"))
    assert json.loads((tmp_path / "out.jsonl").read_text())["prediction"] == 30


def test_say_and_a_file_exclude_each_other(phasefit, model, tmp_path, sentence):
    (tmp_path / "new.csv").write_text("text\na\n")
    assert "or remove --say" in sentence(phasefit("predict", "run", str(tmp_path / "new.csv"), "--say", "hi"))
    assert "or remove --say" in sentence(phasefit("predict", "run", "--say", "hi", "-o", str(tmp_path / "out.csv")))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_answer_that_is_withheld_is_an_empty_cell(phasefit, model, tmp_path, ending):
    model.space = label_space([0, 1, 2])
    model.predict_outputs = lambda texts, **_: np.array([[0.8, 0.1, 0.1], [0.4, 0.35, 0.25]])
    source, target = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    write_frame(FRAME, source)
    result = phasefit("predict", "run", str(source), "-o", str(target), "--reject-below", "0.5")
    assert result.exit_code == 0, result.output
    assert (
        "1 of 2 predictions are withheld (empty, with probabilities): their probability is below 0.500" in result.stderr
    )
    frame = read_frame(target)
    first, second = frame["prediction"]
    assert float(first) == 0
    assert pd.isna(second) or second == ""
    assert frame["probability"].astype(float).tolist() == [0.8, 0.4]


def test_the_threshold_is_the_runs_own_unless_another_is_given(phasefit, model, tmp_path):
    model.reject_below = 0.9
    write_frame(FRAME, tmp_path / "in.csv")
    own = pd.read_csv(io.StringIO(phasefit("predict", "run", str(tmp_path / "in.csv"), "-q").stdout))
    every = pd.read_csv(io.StringIO(phasefit("predict", "run", str(tmp_path / "in.csv"), "--reject-below", "0").stdout))
    assert own["prediction"].isna().all()
    assert every["prediction"].notna().all()
    output = phasefit("predict", "run", "--say", "ab").stdout
    assert "(none of these)" in output
    assert "(none of these)" not in phasefit("predict", "run", "--say", "ab", "--reject-below", "0").stdout


def test_rows_without_text_are_answered_and_counted(phasefit, model, tmp_path):
    model.space = label_space([1, 2, 3])
    source, target = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text("id,text\n1,abc\n2,\n3, \n4,abcd\n")
    result = phasefit("predict", "run", str(source), "-o", str(target), "--reject-below", "0.5")
    assert result.exit_code == 0, result.output
    assert "2 of 4 rows have no text: all new columns are empty there" in result.stderr
    assert "withheld" not in result.stderr
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["prediction"] for row in rows] == [1, None, None, 2]
    assert [row["probability"] for row in rows] == [0.8, None, None, 0.8]
    assert rows[1] == {"id": "2", "text": "", **dict.fromkeys(list(rows[0])[2:])}
    both = phasefit("predict", "run", str(source), "--reject-below", "0.9")
    assert "2 of 4 rows have no text" in both.stderr
    assert "2 of 4 predictions are withheld (empty, with probabilities)" in both.stderr
    assert both.stdout.splitlines()[1:3] == ["1,abc,,0.8,0.8,0.1,0.1", "2,,,,,,"]
    assert phasefit("predict", "run", str(source), "--quiet").stderr == ""


def test_a_table_without_any_text(phasefit, model, tmp_path):
    (tmp_path / "in.csv").write_text("id,text\n1,\n")
    result = phasefit("predict", "run", str(tmp_path / "in.csv"))
    assert result.stdout.splitlines()[1] == "1,,,,,,"
    assert "1 of 1 rows has no text" in result.stderr


def test_probabilities_have_six_significant_digits(phasefit, model, tmp_path, monkeypatch):
    monkeypatch.setattr(model, "predict_outputs", lambda *_, **__: np.array([[2 / 3, 1 / 3 - 1e-7, 1.23456789e-7]]))
    (tmp_path / "in.csv").write_text("text\nhello\n")
    line = phasefit("predict", "run", str(tmp_path / "in.csv")).stdout.splitlines()[1]
    assert line == "hello,[bold],0.666667,0.666667,0.333333,1.23457e-07"


@pytest.mark.parametrize(
    ("option", "columns"),
    [
        (("--probabilities", "all"), NEW),
        (("--probabilities", "none"), NEW[:2]),
        (("--no-probabilities",), NEW[:2]),
        (("--no-probabilities", "--probabilities", "none"), NEW[:2]),
        (("--probabilities", "top:1"), [*NEW[:2], "class_1", "probability_1"]),
        (("--probabilities", "top:99", "--prefix", "p_"), [
            *("p_prediction", "p_probability", "p_class_1", "p_probability_1", "p_class_2", "p_probability_2"),
            *("p_class_3", "p_probability_3"),
        ]),
    ],
)  # fmt: skip
def test_probabilities(phasefit, model, tmp_path, option, columns):
    (tmp_path / "in.csv").write_text("text\nabcd\n\n")
    frame = pd.read_csv(io.StringIO(phasefit("predict", "run", str(tmp_path / "in.csv"), *option).stdout))
    assert list(frame.columns) == ["text", *columns]
    if "class_1" in frame.columns:
        assert frame[["class_1", "probability_1"]].values.tolist() == [["good", 0.8]]


@pytest.mark.parametrize("value", ["some", "top", "top:", "top:0", "top:-1", "top:x", "top:1.5"])
def test_unknown_probabilities(phasefit, model, sentence, value):
    said = sentence(phasefit("predict", "run", "--probabilities", value, "--say", "x"))
    assert f"--probabilities {value} is unknown; use all, none, or top:N" in said


def test_contradicting_probabilities(phasefit, model, sentence):
    said = sentence(phasefit("predict", "run", "--probabilities", "top:2", "--no-probabilities", "--say", "x"))
    assert "exclude each other" in said


def test_the_most_probable_classes_need_classes(phasefit, model, tmp_path, sentence, monkeypatch):
    model.space = label_space([0.5, 1.5], "score")
    monkeypatch.setattr(model, "predict_outputs", lambda texts, **_: np.full((len(texts), 1), 1.25))
    (tmp_path / "in.csv").write_text("text\nhello\n")
    refused = phasefit("predict", "run", str(tmp_path / "in.csv"), "--probabilities", "top:2")
    assert "needs a model with classes; this model has labels of kind 'score'" in sentence(refused)
    (tmp_path / "in.csv").write_text("text,id\nhello,1\n,2\n")
    scored = phasefit("predict", "run", str(tmp_path / "in.csv"), "--probabilities", "none")
    assert scored.stdout.splitlines() == ["text,id,prediction", "hello,1,1.25", ",2,"]


def test_the_labels_of_several_per_text(phasefit, model, tmp_path, monkeypatch):
    model.space = label_space([frozenset("ab"), frozenset("c")], "multi")
    monkeypatch.setattr(model, "decision", lambda task="": Decision(thresholds=(0.5,) * 3))
    monkeypatch.setattr(model, "predict_outputs", lambda texts, **_: np.array([[0.9, 0.2, 0.7]] * len(texts)))
    (tmp_path / "in.csv").write_text("text,id\nhello,1\n,2\n")
    result = phasefit("predict", "run", str(tmp_path / "in.csv"), "--probabilities", "top:2")
    assert result.stdout.splitlines()[1:] == ["hello,1,a|c,0.7,a,0.9,c,0.7", ",2,,,,,,"]


def test_ordinary_files(phasefit, model, tmp_path, sentence):
    source = tmp_path / "in.csv"
    source.write_bytes("id;text\n1;très bien, merci\n".encode("cp1252"))
    result = phasefit("predict", "run", str(source), "--no-probabilities")
    assert "in.csv: separated by semicolons, read as Windows-1252; --delimiter and --encoding change" in result.stderr
    assert 'très bien, merci"' in result.stdout
    given = phasefit("predict", "run", str(source), "--delimiter", ";", "--encoding", "latin-1")
    assert (given.exit_code, given.stderr) == (0, "")
    lines = phasefit("predict", "run", "-", "--encoding", "latin-1", input="né\n".encode("latin-1"))
    assert lines.stdout.splitlines()[1].startswith("né,")
    assert "--encoding" in sentence(phasefit("predict", "run", "-", input=b"n\xe9\n"))
    assert "--sheet does not apply to one text per line" in sentence(
        phasefit("predict", "run", "-", "--sheet", "x", input="a\n")
    )
