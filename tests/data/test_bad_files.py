"""Files that are not what they should be: each one sentence with the file and the row."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from phasefit.data.readers import read_frame
from phasefit.errors import DataError

HEAD = "text,label\nfine,a\n"
BAD = {
    "empty": ("t.csv", "", "t.csv is empty"),
    "empty inside gzip": ("t.csv.gz", "", "t.csv.gz is empty"),
    "blank lines only": ("t.csv", "\n\n", "t.csv is empty"),
    "header only": ("t.csv", "text,label\n", "t.csv has no rows, only a header"),
    "too many": ("t.csv", HEAD + "b,c,d\n", "t.csv, row 2 (line 3): expected 2 columns, found 3"),
    "too few": ("t.csv", HEAD + "b\n", "t.csv, row 2 (line 3): expected 2 columns, found 1"),
    "after two lines in one row": ("t.csv", 'text,label\n"a\nb",c\nd\n', "t.csv, row 2 (line 4): expected 2 columns"),
    "ragged tsv": ("t.tsv", "text\tlabel\na\tb\nc\n", "t.tsv, row 2 (line 3): expected 2 columns, found 1"),
    "open quote": ("t.csv", HEAD + '"b,c\nd,e\n', "t.csv, row 2 (line 3): a quote is not closed"),
    "open quote in the last column": ("t.csv", HEAD + 'b,"c\nd,e\n', "t.csv, row 2 (line 3): a quote is not closed"),
    "rows swallowed by a quote": ("t.csv", HEAD + 'b,"c\nd,"e"\nf,g\n', "t.csv, row 2 (line 3): bad quoting"),
    "broken utf-8": ("t.csv", HEAD.encode() + b"caf\xe9,b\n", "t.csv, row 2 (line 3): broken UTF-8"),
    "broken utf-8 in the header": ("t.csv", b"t\xe9xt,label\na,b\n", "t.csv, the header: broken UTF-8"),
    "broken utf-8, gzipped": ("t.csv.gz", HEAD.encode() + b"caf\xe9,b\n", "t.csv.gz, row 2 (line 3): broken UTF-8"),
    "utf-16": ("t.csv", HEAD.encode("utf-16"), "t.csv is UTF-16; save it as UTF-8"),
    "nul": ("t.csv", HEAD + "b\0,c\n", "t.csv, row 2 (line 3): a NUL character"),
    "same column twice": ("t.csv", "text,text\na,b\n", "t.csv: two columns are named 'text'"),
    "unknown ending": ("t.xlsx", "x", "t.xlsx: unknown file ending '.xlsx'; known: .csv"),
    "jsonl empty": ("t.jsonl", "\n \n", "t.jsonl is empty"),
    "jsonl broken": ("t.jsonl", '{"a": 1}\n{"a": \n', "t.jsonl, line 2: not valid JSON"),
    "jsonl not an object": ("t.jsonl", '{"a": 1}\n\n[1]\n', "t.jsonl, line 3: a JSON object is needed, found list"),
    "jsonl broken utf-8": ("t.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "t.jsonl, line 2: broken UTF-8"),
    "jsonl endless number": ("t.jsonl", '{"a": ' + "1" * 5000 + "}\n", "t.jsonl, line 1: not valid JSON"),
    "parquet": ("t.parquet", "PAR1 not", "t.parquet is not a Parquet file, or a damaged one"),
    "parquet gz": ("t.parquet.gz", "not", "t.parquet.gz is not a Parquet file, or a damaged one"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD)
def test_one_sentence(write, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_frame(write(name, content))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file: .*gone\.csv"):
        read_frame(tmp_path / "gone.csv")
    with pytest.raises(DataError, match="is a folder, not a file"):
        read_frame(tmp_path)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.parquet.gz"])
@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b'{"text": 1}\n' * 99)[:-12]], ids=["foreign", "cut"])
def test_damaged_gzip(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="is not a whole gzip file"):
        read_frame(tmp_path / name)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_another_separator_is_named(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "semi.csv"
    path.write_text(f"text{mark}label\ngood{mark}yes\n")
    with pytest.raises(DataError, match="seems to be separated by"):
        read_frame(path)
