"""Rows with empty texts or labels: refused with the option in the message, dropped, or kept for predictions."""

from __future__ import annotations

import json

import pytest

import phasefit
from phasefit.data.sources import read_dataset, read_table
from phasefit.errors import DataError, LabelError
from phasefit.prepare.specification import DataSpec
from specs import prepare, run_spec

TABLE = "text,label\na b,x\n,y\nc d,\n  ,\ne f,y\ng h,x\n"


def test_refusing_is_the_default_and_the_message_names_the_option(write) -> None:
    path = str(write("t.csv", TABLE))
    drop = r"\(the first of 2 such rows\); fill in or remove these rows, or drop such rows with --empty drop$"
    with pytest.raises(DataError, match=r"^t\.csv, row 2 \(line 3\): the text is empty or missing " + drop):
        prepare(run_spec(path))
    with pytest.raises(DataError, match=r'or drop such rows with empty="drop"$'):
        phasefit.read_table(path)
    with pytest.raises(DataError, match=r"fill in or remove these rows$"):  # where there is no such option
        read_table(path)
    with pytest.raises(LabelError, match=r"row 2 \(line 3\): the label is missing; fill in or remove the row, or drop"):
        prepare(run_spec(str(write("t.csv", "text,label\na,x\nb,\nc,y\n"))))


def test_dropping_counts_and_keeps_row_numbers(write) -> None:
    path = str(write("t.csv", TABLE))
    table = phasefit.read_table(path, empty="drop")
    assert (table.texts, table.labels, table.dropped) == (["a b", "e f", "g h"], ["x", "y", "x"], (2, 3, 4))
    assert table.frame["text"].tolist() == table.texts
    assert table.row_numbers(table.rows * 0 + [0, 1, 2]).tolist() == [1, 5, 6]
    bad = str(write("u.jsonl", '{"text": "", "label": 1}\n{"text": "a", "label": 1}\n{"text": "b", "label": 1.5}\n'))
    with pytest.raises(LabelError, match=r"u\.jsonl, row 3 \(line 3\): label 1.5 is a decimal"):
        read_table(bad, empty="drop", kind="single")


def test_a_run_reports_and_records_the_dropped_rows(write) -> None:
    rows = "".join(f"text number {row},{'xy'[row % 2]}\n" for row in range(20))
    given = {"unlabelled": str(write("more.csv", "text\nmore words\n \n")), "empty": "drop"}
    prepared = prepare(run_spec(str(write("t.csv", f"text,label\n{rows},x\nlast,\n")), **given))
    assert "t.csv: 2 of 22 rows left out because their text or label is empty (rows 21, 22)" in prepared.notes
    assert "more.csv: 1 of 2 rows left out because their text is empty (row 2)" in prepared.notes
    assert prepared.facts()["dropped"] == {"train": 2, "unlabelled": 1}
    assert json.dumps(prepared.facts())


def test_no_labels_is_a_label_of_several(write) -> None:
    table = read_table(str(write("t.csv", "text,label\na,x|y\n,x\nb,\nc,x\nd,y\n")), empty="drop", kind="multi")
    assert table.labels == [frozenset("xy"), frozenset(), frozenset("x"), frozenset("y")]


def test_levels_of_a_tree_and_scores_and_pairs(write) -> None:
    tree = read_table(str(write("t.csv", "text,a,b\nt,x,\nu,,\nv,x,y\n")), label=("a", "b"), empty="drop")
    assert tree.labels == [("x",), ("x", "y")]
    scores = read_table((["a", None, "c", "d"], [1.5, 2.5, None, 0.5]), kind="score", empty="drop")
    assert (scores.texts, scores.labels) == (["a", "d"], [1.5, 0.5])
    pairs = read_table([("a", "b"), ("c", ""), ("d", "e")], need_labels=False, sides="any", empty="drop")
    assert pairs.inputs == [("a", "b"), ("d", "e")]


def test_a_split_without_labels_keeps_its_rows(tmp_path) -> None:
    (tmp_path / "train.csv").write_text(TABLE)
    (tmp_path / "test.csv").write_text("text,label\na,\nb,\n")
    dataset = read_dataset(str(tmp_path), empty="drop")
    assert (len(dataset.train), len(dataset.test), dataset.test.labels) == (3, 2, None)


def test_nothing_left_and_unknown_choices(write) -> None:
    with pytest.raises(DataError, match=r"t\.csv: every row has an empty text or label; check the columns"):
        read_table(str(write("t.csv", "text,label\na,\n,b\n")), empty="drop")
    with pytest.raises(DataError, match=r"unknown choice; did you mean 'drop'"):
        DataSpec("t.csv", empty="dropp")
    with pytest.raises(DataError, match="unknown choice"):
        phasefit.read_table("t.csv", empty="keep")


def test_kept_rows_have_empty_texts_and_are_marked(write) -> None:
    table = read_table(str(write("t.csv", TABLE)), need_labels=False, empty="keep")
    assert table.texts == ["a b", "", "c d", "", "e f", "g h"]
    assert table.blank.tolist() == [False, True, False, True, False, False]
    assert read_table(["a"], need_labels=False, empty="keep").blank is None
    bad = str(write("t.jsonl", '{"text": null}\n{"text": 5}\n'))
    with pytest.raises(DataError, match=r"row 2 \(line 2\): expected a text, found int 5"):
        read_table(bad, need_labels=False, empty="keep")
