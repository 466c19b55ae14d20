"""Bad files raise one sentence with the file and the row."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from phasefit.data.io.frames import read_frame
from phasefit.errors import DataError

HEAD = "text,label\nfine,a\n"
OBJECT = 'a JSON object such as {"text": ..., "label": ...}'
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
    "broken utf-8": ("t.csv", HEAD.encode() + b"na\xc3\xafve caf\xe9,b\n", "t.csv, row 2 (line 3): invalid UTF-8"),
    "broken utf-8 in the header": ("t.csv", b"t\x81xt,label\na,b\n", "t.csv, the header: invalid UTF-8"),
    "broken utf-8, gzipped": ("t.csv.gz", HEAD.encode() + b"caf\x8d,b\n", "t.csv.gz, row 2 (line 3): invalid UTF-8"),
    "cyrillic": ("t.csv", HEAD.encode() + "привет мир друзья,b\n".encode("cp1251"), "t.csv, row 2 (line 3): invalid"),
    "broken utf-16": ("t.csv", HEAD.encode("utf-16") + b"\0\xd8,\0b\0", "t.csv, row 2 (line 3): invalid UTF-16;"),
    "gzip by another name": ("t.csv", gzip.compress(HEAD.encode()), "t.csv is a gzip file; rename it to t.csv.gz"),
    "zip by another name": (
        "t.jsonl",
        b"PK\x03\x04\0\0",
        "t.jsonl is a zip archive or a spreadsheet; unpack it, or rename it to t.xlsx",
    ),
    "parquet by another name": ("t.csv", b"PAR1\x15\x04\x15", "t.csv is a Parquet file; rename it to t.parquet"),
    "jsonl by another name": (
        "t.csv",
        '{"text": "a", "label": 1}\n',
        "t.csv seems to be JSON; rename it to .json or .jsonl",
    ),
    "white space only": ("t.csv", " \n\t \n", "t.csv is empty: it contains only white space"),
    "no names": ("t.csv", " \nhello\n", "t.csv: the first line has no column names; add a header"),
    "open quote in the header": ("t.csv", '"text,label\na,b\n', "t.csv, the header (line 1): a quote is not closed"),
    "nul": ("t.csv", HEAD + "b\0,c\n", "t.csv, row 2 (line 3): a NUL character"),
    "same column twice": ("t.csv", "text,text\na,b\n", "t.csv: two columns are named 'text'"),
    "unknown ending": ("t.ods", "x", "t.ods: unknown file extension '.ods'; supported: .csv"),
    "no ending": ("t", "x", "t: unknown file extension ''; supported: .csv"),
    "jsonl empty": ("t.jsonl", "\n \n", "t.jsonl is empty"),
    "jsonl broken": ("t.jsonl", '{"a": 1}\n{"a": \n', "t.jsonl, line 2: not valid JSON"),
    "jsonl not an object": ("t.jsonl", '{"a": 1}\n\n[1]\n', f"t.jsonl, line 3: expected {OBJECT}, found a list"),
    "jsonl a number": ("t.jsonl", '{"a": 1}\n1.5\n', f"t.jsonl, line 2: expected {OBJECT}, found a number"),
    "jsonl null": ("t.jsonl", "null\n", f"t.jsonl, line 1: expected {OBJECT}, found null"),
    "jsonl without keys": ("t.jsonl", "{}\n{}\n", "t.jsonl: all objects are empty"),
    "jsonl half a key": ("t.jsonl", '{"a": 1}\n{"\\ud800": 1}\n', "t.jsonl, line 2: '?' contains a lone surrogate"),
    "jsonl half inside": ("t.jsonl", '{"a": [["\\uDFFF"]]}\n', "t.jsonl, line 1: 'a' contains a lone surrogate"),
    "jsonl broken utf-8": ("t.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "t.jsonl, line 2: invalid UTF-8"),
    "jsonl endless number": ("t.jsonl", '{"a": ' + "1" * 5000 + "}\n", "t.jsonl, line 1: not valid JSON"),
    "parquet": ("t.parquet", "PAR1 not", "t.parquet is not a Parquet file or is damaged"),
    "parquet gz": ("t.parquet.gz", "not", "t.parquet.gz is not a Parquet file or is damaged"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD)
def test_one_sentence(write, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_frame(write(name, content))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_advice_for_other_extensions(write) -> None:
    with pytest.raises(DataError, match=r"save the spreadsheet as \.xlsx or as CSV"):
        read_frame(write("t.xls", "x"))


def test_a_parquet_file_with_invalid_utf8(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    raw = pa.array([b"fine", b"\xff\xfe"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"text": raw}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="or is damaged; write or download it again"):
        read_frame(tmp_path / "t.parquet")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file: .*gone\.csv"):
        read_frame(tmp_path / "gone.csv")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="no such file"):
        read_frame(tmp_path / "file" / "t.csv")
    with pytest.raises(DataError, match="is a folder, not a file"):
        read_frame(tmp_path)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.parquet.gz"])
@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b" \n" * 999)[:-12]], ids=["foreign", "cut"])
def test_damaged_gzip(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="is not a complete gzip file"):
        read_frame(tmp_path / name)
