"""Files as programs write them: other delimiters and encodings, and JSON lists, with a line about what was assumed."""

from __future__ import annotations

import pytest

import phasefit
from phasefit.data.io.dialect import Dialect, checked_dialect
from phasefit.data.io.frames import read_file, read_frame
from phasefit.data.sources import read_table
from phasefit.errors import DataError

ROWS = [["text", "label"], ["schön, wirklich", "ja"], ["naïve «idée»", "nein"], ["so-so – fine", "ja"]]
BOTH = "--delimiter and --encoding change that"


def joined(mark: str, rows: list[list[str]] = ROWS, quoted: bool = True) -> str:
    cells = ([f'"{cell}"' if quoted and mark in cell else cell for cell in row] for row in rows)
    return "\n".join(mark.join(row) for row in cells) + "\n"


@pytest.mark.parametrize(
    ("name", "mark", "encoding", "assumption"),
    [
        ("t.csv", ",", "utf-8", ""),
        ("t.csv", ",", "utf-8-sig", ""),
        ("t.tsv", "\t", "utf-8", ""),
        ("t.csv", ";", "utf-8", "t.csv: separated by semicolons; --delimiter changes that"),
        ("t.csv", "\t", "utf-8", "t.csv: separated by tabs; --delimiter changes that"),
        ("t.csv", "|", "utf-8", "t.csv: separated by bars (|); --delimiter changes that"),
        ("t.tsv", ";", "utf-8", "t.tsv: separated by semicolons; --delimiter changes that"),
        ("t.csv.gz", ";", "cp1252", f"t.csv.gz: separated by semicolons, read as Windows-1252; {BOTH}"),
        ("t.csv", ",", "cp1252", "t.csv: read as Windows-1252; --encoding changes that"),
        ("t.csv", ",", "utf-16", "t.csv: read as UTF-16; --encoding changes that"),
        ("t.csv", ";", "utf-16-le", f"t.csv: separated by semicolons, read as UTF-16-LE; {BOTH}"),
        ("t.csv", ",", "utf-16-be", "t.csv: read as UTF-16-BE; --encoding changes that"),
        ("t.csv", ",", "utf-32", "t.csv: read as UTF-32; --encoding changes that"),
    ],
)
def test_delimiters_and_encodings_are_recognised(write, name: str, mark: str, encoding: str, assumption: str) -> None:
    content = read_file(write(name, joined(mark).encode(encoding)))
    assert [list(content.frame.columns), *content.frame.values.tolist()] == ROWS
    assert content.reading.assumption == assumption
    assert content.location(1) == "line 3"


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("text\na;b\nc;d\n", ["text"]),  # the header has one column
        ("a;b,label\nx;y,1\n", ["a;b", "label"]),  # plausible both ways
        ("text,label\na;b;c,1\nd;e;f,2\n", ["text", "label"]),
        ("text\none, two\n", None),  # a ragged row stays an error
        ("text,label\na,b\nc,d,e\n", None),
        ("text;label\na;b\nc;d;e\n", None),
    ],
)
def test_a_comma_stays_unless_header_and_rows_agree_on_another_mark(write, content: str, header) -> None:
    path = write("t.csv", content)
    if header is None:
        with pytest.raises(DataError, match=r"expected 1 columns, found 2|row 2 .line 3.: expected 2|do not all have"):
            read_frame(path)
    else:
        assert list(read_frame(path).columns) == header


def test_options_win_over_what_would_be_assumed(write) -> None:
    path = write("t.csv", joined(";").encode("cp1252"))
    one = read_file(path, checked_dialect(delimiter="|", encoding="latin-1"))
    assert list(one.frame.columns) == ["text;label"]
    assert one.reading.assumption == ""
    both = read_file(path, checked_dialect(delimiter="semicolon", encoding="windows-1252"))
    assert both.frame["text"].tolist() == [row[0] for row in ROWS[1:]]
    table = read_table(str(path), delimiter=";", encoding="cp1252", label="label")
    assert table.file.dialect == Dialect(";", "cp1252")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "ab"}, "--delimiter 'ab' cannot separate columns; give one character"),
        ({"delimiter": ""}, "--delimiter '' cannot separate"),
        ({"delimiter": '"'}, "cannot separate"),
        ({"delimiter": "x"}, "cannot separate"),
        ({"encoding": "klingon"}, "--encoding 'klingon' is not known; give a name such as utf-8"),
        ({"encoding": "rot13"}, "is not known"),
        ({"encoding": 5}, "--encoding must be a string"),
        ({"sheet": "Data"}, "--sheet applies to Excel files, and t is none; remove it"),
    ],
)
def test_wrong_options_are_refused(write, options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(str(write("t.csv", joined(","))), **options)
    assert message in str(caught.value)


def test_a_delimiter_of_a_file_that_has_none(write) -> None:
    with pytest.raises(DataError, match="--delimiter applies to CSV and TSV files, and t is none"):
        read_table(str(write("t.jsonl", '{"text": "a", "label": "b"}\n')), delimiter=";")
    with pytest.raises(DataError, match="--encoding applies to text files"):
        read_table((["a", "b"], ["x", "y"]), encoding="utf-8")


def test_what_windows_1252_cannot_be_is_not_assumed(write) -> None:
    for text in ("привет, мир", "Zażółć gęślą jaźń, było łąką źdźbło"):
        encoding = "cp1251" if text[0] == "п" else "cp1250"
        data = f'text,label\n"{text}",a\n'.encode(encoding)
        with pytest.raises(DataError, match=r"invalid UTF-8; save the file as UTF-8, or name its encoding"):
            read_frame(write("t.csv", data))
        frame = read_frame(write("t.csv", data), checked_dialect(encoding=encoding))
        assert frame["text"].tolist() == [text]


def test_row_exact_errors_in_another_encoding(write) -> None:
    data = "text;label\nschön;a\nzu;viel;hier\n".encode("cp1252")
    with pytest.raises(DataError, match=r"t\.csv, row 2 \(line 3\): expected 2 columns, found 3"):
        read_frame(write("t.csv", data), checked_dialect(delimiter=";"))
    with pytest.raises(DataError, match=r"t\.csv, row 2 \(line 3\): invalid SHIFT_JIS"):
        read_frame(write("t.csv", b"text,label\n\x83\x65,a\n\x83,b\n"), checked_dialect(encoding="shift_jis"))
    with pytest.raises(DataError, match=r"t\.csv, row 2 \(line 3\): the text is empty"):
        read_table(str(write("t.csv", "text;label\na;b\n;c\n".encode("utf-16"))))


def test_lines_and_json_lines_in_other_encodings(write) -> None:
    assert read_frame(write("t.txt", "né\nça\n".encode("cp1252") * 4 + b"plain words here\n"))["text"][1] == "ça"
    record = '{"text": "façade of the house", "label": "x"}\n'
    for encoding in ("cp1252", "utf-16"):
        assert read_frame(write("t.jsonl", record.encode(encoding)))["text"].tolist() == ["façade of the house"]


def test_json_lists(write) -> None:
    text = '\ufeff [\n {"text": "a", "label": 1},\n\n {"text": "b",\n "more": [1, null]}\n]\n'
    for name in ("t.json", "t.jsonl", "t.json.gz"):
        content = read_file(write(name, text))
        assert content.frame["text"].tolist() == ["a", "b"]
        assert content.frame["more"].tolist() == [None, [1, None]]
        assert [content.location(row) for row in (0, 1)] == ["line 2", "line 4"]
    assert read_frame(write("t.json", '{"text": "a"}\n{"text": "b"}\n'))["text"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "t.json is empty"),
        ("[{}]", "t.json: all objects are empty"),
        ("[", "t.json, row 1 (line 1): not valid JSON"),
        ('[{"a": 1},\n{"a": ]', "t.json, row 2 (line 2): not valid JSON"),
        ('[{"a": 1}\n{"a": 2}]', "t.json, row 2 (line 2): not valid JSON (Expecting ',' or ']')"),
        ('[{"a": 1}] x', "t.json, row 2 (line 1): not valid JSON (text after the end of the list)"),
        ('[{"a": 1},\n"b"]', "t.json, row 2 (line 2): expected a JSON object such as"),
        ('[{"a": "\\ud800"}]', "t.json, row 1 (line 1): 'a' contains a lone surrogate"),
        ("[" * 100_000, "t.json, row 1 (line 1): not valid JSON"),
        ('{"rows": [{"text": "a"}\n]}', "t.json, line 1: not valid JSON"),
        (b'[{"a": "\xff"}]', "t.json, line 1: invalid UTF-8"),
        ("5", "t.json, line 1: expected a JSON object"),
    ],
)
def test_bad_json_lists(write, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_frame(write("t.json", content))
    assert str(caught.value).startswith(message)


def test_python_logs_what_is_assumed(write, caplog) -> None:
    caplog.set_level("INFO", logger="phasefit")
    table = phasefit.read_table(write("t.csv", joined(";")), sheet=None)
    assert caplog.messages == ["t.csv: separated by semicolons; `delimiter` changes that"]
    assert table.file.assumption == "t.csv: separated by semicolons; --delimiter changes that"
    caplog.clear()
    phasefit.read_table(write("t.csv", joined(";")), delimiter=";")
    assert caplog.messages == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["", "-le"])
def test_a_named_encoding_needs_no_mark(write, encoding: str, order: str) -> None:
    path = write("t.csv", "text,label\nschön,a\ngut,b\n".encode(encoding + order))
    assert phasefit.read_table(path, encoding=encoding).texts == ["schön", "gut"]


@pytest.mark.parametrize("encoding", ["idna", "punycode", "zip", "rot13"])
def test_codecs_of_other_things_are_refused(write, encoding: str) -> None:
    with pytest.raises(DataError, match="is not known; give a name such as utf-8"):
        phasefit.read_table(write("t.csv", b"text,label\na,b\n"), encoding=encoding)


def test_implausibly_many_columns_are_refused(write) -> None:
    with pytest.raises(DataError, match="has 20,001 columns, more than 20,000"):
        phasefit.read_table(write("t.csv", b",".join([b"c"] * 20_001)))
