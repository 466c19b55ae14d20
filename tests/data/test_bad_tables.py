"""Bad texts and labels raise one sentence with the row, the count and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from phasefit.data import read_dataset, read_table
from phasefit.errors import DataError, LabelError

TWO = ["one", "two"]
MEMORY: dict[str, tuple[Any, type[DataError], str]] = {
    "no rows": (([], []), DataError, "table has no rows"),
    "empty text": ((["one", " "], TWO), DataError, "table, row 2: the text is empty or missing; fill in or remove"),
    "missing texts": (
        (["a", None, np.nan], list("abc")),
        DataError,
        "table, row 2: the text is empty or missing (the first of 2 such rows)",
    ),
    "number as text": ((["one", 2], TWO), DataError, "table, row 2: expected a text, found int 2; is this the right"),
    "half a surrogate": ((["one", "\ud800"], TWO), DataError, "table, row 2: the text contains a lone surrogate"),
    "half a surrogate in a label": (
        (TWO, ["a", "\udc80"]),
        LabelError,
        "table, row 2: the label contains a lone surrogate",
    ),
    "half a surrogate in a path": (
        (TWO, [("a", "b"), ("a", "\udc80")]),
        LabelError,
        "table, row 2: the label contains a lone surrogate",
    ),
    "lengths": ((TWO, ["a"]), DataError, "table: 2 texts but 1 labels"),
    "missing label": ((TWO, ["a", None]), LabelError, "table, row 2: the label is missing; fill in or remove"),
    "nan": ((TWO, [1.0, np.nan]), LabelError, "table, row 2: the label is missing"),
    "na": ((TWO, pd.array([None, 1], dtype="Int64")), LabelError, "table, row 1: the label is missing"),
    "blank labels": ((TWO, ["", " "]), LabelError, "table, row 1: the label is missing (the first of 2 such rows)"),
    "names among scores": ((TWO, [0.25, "good"]), LabelError, "table, row 2: 'good' is not a number; for named levels"),
    "missing score": ((TWO, [0.25, None]), LabelError, "table, row 2: the score is missing; fill it in or remove"),
    "infinite": ((TWO, [1.0, np.inf]), LabelError, "table, row 2: inf is not a number"),
    "very large": ((TWO, [0.5, 10**400]), LabelError, "table, row 2: 1000"),
    "hole in a list": ((TWO, [["a", "b"], ["a", None]]), LabelError, "table, row 2: one of the labels is missing"),
    "list in a list": ((TWO, [["a"], [["b"]]]), LabelError, "table, row 2: one of the labels is missing or a list"),
    "half a surrogate in a list": (
        (TWO, [["a"], ["\udc80"]]),
        LabelError,
        "table, row 2: the label contains a lone surrogate",
    ),
    "decimals in a list": ((TWO, [["a"], [0.5]]), LabelError, "table, row 2: label 0.5 is a decimal, not a class"),
    "matrix": ((TWO, np.eye(2, dtype=int)), LabelError, "a matrix of zeros and ones has no label names; give"),
    "dict": ((TWO, ["a", {"b": 1}]), LabelError, "table, row 2: a label must be a name or a number, not dict"),
    "hole in a path": (
        (TWO, [("a", "b"), (None, "b")]),
        LabelError,
        "table, row 2: level 1 of the label is missing, but level 2 is 'b'; fill it in or remove the row",
    ),
    "path of nothing": ((TWO, [("a", "b"), (None, "")]), LabelError, "table, row 2: the label is an empty path"),
    "not data": (42, DataError, "expected a file, a frame or a list of texts, not int"),
    "empty name": ("", DataError, "the data source is empty"),
    "pairs": (pd.DataFrame({"text_a": TWO, "text_b": TWO, "label": TWO}), DataError, "table: columns 'text_a' and"),
}


@pytest.mark.parametrize(("source", "error", "message"), MEMORY.values(), ids=MEMORY)
def test_objects(source: Any, error: type[DataError], message: str) -> None:
    with pytest.raises(error) as caught:
        read_table(source)
    assert str(caught.value).startswith(message)


FILES = {
    "empty text": ("t.csv", 'text,label\n"a\nb",x\n,y\n', "t.csv, row 2 (line 4): the text is empty or missing"),
    "empty label": ("t.csv.gz", "text,label\na,x\nb,\n", "t.csv.gz, row 2 (line 3): the label is missing"),
    "null label": (
        "t.jsonl",
        '{"text":"a","label":1}\n\n{"text":"b"}\n',
        "t.jsonl, row 2 (line 3): the label is missing",
    ),
    "unquoted tsv": ("t.tsv", 'text\tlabel\n"a\tx\nb\t \n', "t.tsv, row 2: the label is missing"),
    "surrogate": ("t.jsonl", '{"text":"\\ud800","label":1}\n', "t.jsonl, line 1: 'text' contains a lone surrogate"),
    "number text": ("t.jsonl", '{"text":1,"label":1}\n', "t.jsonl, row 1 (line 1): expected a text, found int 1"),
    "score left out in csv": (
        "t.csv",
        "text,label\n" + "".join(f"a,{n / 7:.3f}\n" for n in range(60)) + "a,\n",
        "t.csv, row 61 (line 62): the score is missing; fill it in or remove the row",
    ),
    "no such columns": ("t.csv", "a,b\nc,d\n", "t.csv: no column is recognised as text or label"),
}


@pytest.mark.parametrize(("name", "content", "message"), FILES.values(), ids=FILES)
def test_files(write, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_dataset(write(name, content))
    assert str(caught.value).startswith(message)


def test_impossible_columns(write) -> None:
    path = write("t.csv", "text,label\na,x\nb,y\n")
    with pytest.raises(DataError, match=r"t\.csv: column 'text' is given as --text and as --label"):
        read_table(path, text="text", label=("text",))
    with pytest.raises(DataError, match=r"t\.csv: --label names the column 'label' twice"):
        read_table(path, label=("label", "label"))
    with pytest.raises(DataError, match=r"t\.csv has texts but no label column; .* \(--label\)"):
        read_table(path, text="label")
    with pytest.raises(LabelError, match="--tree is empty"):
        read_table(path, tree="")
    with pytest.raises(LabelError, match="--separator is empty"):
        read_table(path, separator="")


def test_trees(write) -> None:
    path = write("t.csv", "text,label\na,x/y\nb,x//z\n")
    with pytest.raises(LabelError, match=r"t.csv, row 2 \(line 3\): label 'x//z' has an empty level at a '/'"):
        read_table(path, tree="/")


def test_no_such_file_or_dataset(tmp_path: Path, no_data: None) -> None:
    with pytest.raises(DataError, match=r"^no such file: gone\.csv$"):
        read_table("gone.csv")
    with pytest.raises(
        DataError, match=r"there is no file or dataset 'snip'; did you mean 'snips'.*PHASEFIT_DATA.*hub:owner/name"
    ):
        read_table("snip")
    with pytest.raises(DataError, match=r"there is no file or dataset 'owner/name'; .*hub:owner/name"):
        read_table("owner/name")
    with pytest.raises(DataError, match="there is no file or dataset 'xxx"):
        read_table("x" * 5000)
    with pytest.raises(DataError, match="is a folder without a train file"):
        read_table(tmp_path)
