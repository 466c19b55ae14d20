"""phasefit datasets NAME: a dataset looked at before training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    train = tmp_path / "train.csv"
    train.write_text('text,label\nhello there,a\n"HELLO  there",b\n?,b\nsome more words here,a\nlast one,a\n')
    test = tmp_path / "held-out.csv"
    test.write_text("text,label\nlast One,b\nquite new,a\n")
    return str(train), str(test)


def test_everything_worth_checking_is_shown(phasefit, files) -> None:
    result = phasefit("datasets", files[0], "--test", files[1])
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in (
        "rows 5 2",
        "rows with the text of an earlier row 1 0",
        "texts with conflicting labels 1 0",
        "near-empty texts (fewer than two letters or digits) 1 0",
        "near-empty rows 3",
        "test texts that are also in train 1 (50.0%) 1",
        "train hello there a (row 1), b (row 2)",
        "words per text: 95th percentile 4 2",
    ):
        assert line in lines, line
    bars = [line for line in lines if "█" in line]
    assert bars == [
        "a 3 1 " + "█" * 30,
        "b 2 1 " + "█" * 20,
        "1 1 " + "█" * 6,
        "2 5 " + "█" * 30,
        "3 to 4 1 " + "█" * 6,
    ]


def test_a_clean_dataset_shows_no_empty_tables(phasefit) -> None:
    output = phasefit("datasets", "snips").stdout
    assert "Data checks" in output
    assert "Texts in more than one split" not in output
    assert "Conflicting labels" not in output
    assert "Lengths" in output


def test_json_has_all_of_it(phasefit, files) -> None:
    result = phasefit("datasets", files[0], "--test", files[1], "--json")
    description = json.loads(result.stdout, parse_constant=pytest.fail)
    assert description["rows"] == {"train": 5, "test": 2}
    assert description["hygiene"]["parts"]["train"]["conflicts"][0] == {
        "text": "hello there",
        "rows": [1, 2],
        "labels": ["a", "b"],
    }
    assert description["hygiene"]["overlaps"] == [{"part": "test", "other": "train", "rows": 1, "other_label": 1}]


def test_json_of_a_named_one_of_one_that_is_not_here_and_of_the_list(phasefit, monkeypatch) -> None:
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
    snips = json.loads(phasefit("datasets", "snips", "--json").stdout)
    assert snips["classes"] == len(snips["hygiene"]["parts"]["train"]["classes"]["sizes"]) == 10
    assert snips["licence"] == "CC0-1.0"
    trec = json.loads(phasefit("datasets", "trec", "--json").stdout)
    assert trec["where"] is None
    assert "hygiene" not in trec
    listed = json.loads(phasefit("datasets", "--json").stdout)
    assert {"snips", "trec"} <= {one["name"] for one in listed}


@pytest.mark.parametrize(("kind", "content"), [
    ("mrpc", "text_a,text_b,label\na b,c d,1\nA b,c  d,0\n"),
    ("goemotions", "text,label\na b,joy|fear\nA b,joy\n"),
    ("stsb", "text_a,text_b,label\na b,c d,1.5\nA b,c  d,0.5\n"),
    ("nli_triples", "text_a,text_b,text_c\na b,c d,e\nA b,c  d,e\n"),
])  # fmt: skip
def test_kinds_that_cannot_be_trained_on_are_shown_too(phasefit, tmp_path: Path, kind: str, content: str) -> None:
    (tmp_path / kind).mkdir()
    (tmp_path / kind / "train.csv").write_text(content)
    result = phasefit("datasets", kind, "--data-dir", str(tmp_path))
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    several = kind != "goemotions"
    assert f"rows {'identical to' if several else 'with the text of'} an earlier row 1" in lines
    assert ("rows that share their second text 2" in lines) == several
    assert ("texts with conflicting labels 1" in lines) == (kind == "mrpc")


def test_a_tree_of_labels(phasefit, tmp_path: Path) -> None:
    file = tmp_path / "tree.csv"
    file.write_text("text,label\na b,x/y\na b,x/z\nc d,x/y\n")
    result = phasefit("datasets", str(file), "--tree", "/")
    assert "x/y (row 1), x/z (row 2)" in result.stdout


def test_a_held_out_file_that_is_not_there(phasefit, files, sentence) -> None:
    assert "nowhere.csv" in sentence(phasefit("datasets", files[0], "--test", "nowhere.csv"))


def test_pairs_and_texts_without_labels(phasefit, tmp_path):
    (tmp_path / "pairs.csv").write_text("anchor,positive\nfirst one,second one\nfirst one,third one\n")
    shown = phasefit("datasets", str(tmp_path / "pairs.csv"))
    assert shown.exit_code == 0, shown.output
    for piece in ("train 2", "none; pairs of texts", "anchor", "positive", "third one"):
        assert piece in shown.stdout
    (tmp_path / "lines.txt").write_text("first one\nsecond one\n")
    description = json.loads(phasefit("datasets", str(tmp_path / "lines.txt"), "--json").stdout)
    assert (description["kind"], description["rows"], description["classes"]) == ("none", {"train": 2}, None)
    tested = ("datasets", str(tmp_path / "lines.txt"), "--test", str(tmp_path / "lines.txt"))
    assert "Texts in more than one split" in phasefit(*tested).stdout


def test_wrong_labels_are_still_reported(phasefit, tmp_path, sentence):
    (tmp_path / "t.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "b", "label": {"y": 1}}\n')
    wrong = sentence(phasefit("datasets", str(tmp_path / "t.jsonl")))
    assert "row 2 (line 2): a label must be a name or a number, not dict" in wrong


ROWS = "".join(
    f"{'good' if row % 2 else 'awful'} film number {row},{'a/b' if row % 2 else 'a/c'}\n" for row in range(30)
)


def test_everything_that_training_would_report_is_shown(phasefit, tmp_path):
    long = "word " * 400
    (tmp_path / "t.csv").write_text(f"text,label\n{ROWS}{long},a/b\n,a/b\nno label,\n龘靐 齉爩 麤灪,a/c\n")
    result = phasefit("datasets", str(tmp_path / "t.csv"))
    assert result.exit_code == 0, result.output
    shown = result.stdout
    assert "t.csv: 2 of 34 rows left out because their text or label is empty (rows 32, 33)" in shown
    assert "training refuses 2 rows with empty cells unless you use --empty drop" in shown
    assert "the labels look like paths of a tree, e.g. 'a/b'; to learn their levels use --tree /" in shown
    assert "labels: kind 'single', 2 classes" in shown
    assert "data: 32 rows (23 train, 6 validation, 3 test), 2 classes" in shown
    assert "only 3 test rows (one row is 33 % of the accuracy)" in shown
    assert "1 of 29 texts are longer than 256 tokens" in shown
    assert "cannot read 1 of 29 texts: a third or more of their tokens are unknown" in shown
    notes = json.loads(phasefit("datasets", str(tmp_path / "t.csv"), "--json").stdout)["training"]
    assert {note["text"] in shown for note in notes} == {True}
    assert any(note["warning"] for note in notes)


def test_what_training_refuses_is_shown_too(phasefit, tmp_path):
    (tmp_path / "t.csv").write_text("text;label\na b;x\nc d;x\n")
    shown = phasefit("datasets", str(tmp_path / "t.csv")).stdout
    assert "training with the default recipe would stop here: t: there is only one class, 'x'" in shown


def test_several_labels_and_levels_are_inspected_as_in_training(phasefit, tmp_path, sentence):
    (tmp_path / "tags.csv").write_text("text,label\none,a;b\ntwo,\nthree,b\n")
    tags = ("datasets", str(tmp_path / "tags.csv"), "--kind", "multi", "--separator", ";", "--json")
    description = json.loads(phasefit(*tags).stdout)
    assert (description["kind"], description["counts"]) == ("multi", {"b": 2, "a": 1})
    (tmp_path / "moods.csv").write_text("text,label\none,bad\ntwo,good\nthree,good\n")
    moods = ("datasets", str(tmp_path / "moods.csv"), "--levels", "bad,fair,good", "--json")
    description = json.loads(phasefit(*moods).stdout)
    assert (description["kind"], description["counts"]) == ("score", {"good": 2, "bad": 1})
    (tmp_path / "tasks.toml").write_text('[[task]]\nname = "one"\ndata = "tags.csv"\n')
    assert "is a task file; inspect its tables" in sentence(phasefit("datasets", str(tmp_path / "tasks.toml")))
