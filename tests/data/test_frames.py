"""Reading and writing files in every format, also gzipped, without type inference or loss."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from phasefit.data.io.files import stem
from phasefit.data.io.frames import read_file, read_frame, write_frame
from phasefit.errors import DataError

FRAME = pd.DataFrame(
    {
        "text": ["NA", 'say "hi", you', "two\nlines", "null", "\u05e9\u05dc\u05d5\u05dd \U0001f600"],
        "label": list("ababa"),
    }
)
ENDINGS = [f"{ending}{gz}" for ending in (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet") for gz in ("", ".gz")]


@pytest.mark.parametrize("ending", ENDINGS)
def test_written_files_are_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table{ending}"
    write_frame(FRAME, path)
    pd.testing.assert_frame_equal(read_frame(path), FRAME)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # no .part is left


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_everything_in_csv_is_text_and_nothing_is_missing(tmp_path: Path, write, ending: str) -> None:
    separator = "\t" if ending == ".tsv" else ","
    rows = [["Text", "n", "e"], ["NA", "007", ""], ["null", "1e3", "nan"]]
    frame = read_frame(write(f"t{ending}", "\n".join(separator.join(row) for row in rows) + "\n"))
    assert frame.values.tolist() == rows[1:]


@pytest.mark.parametrize("name", ["A.CSV", "a.Csv.GZ"])
def test_extensions_ignore_case(write, name: str) -> None:
    assert read_frame(write(name, "\ufefftext,label\r\na,b\r\n")).to_dict("records") == [{"text": "a", "label": "b"}]


def test_jsonl_keeps_types_and_fills_missing_keys(write) -> None:
    lines = '{"text": "2020-01-01", "label": 1}\n\n{"text": "b", "label": true, "more": [1, null]}\n{"label": 2.5}\n'
    frame = read_frame(write("t.jsonl", lines))
    assert frame["text"].tolist() == ["2020-01-01", "b", None]
    assert [type(label) for label in frame["label"]] == [int, bool, float]
    assert frame["more"].tolist() == [None, [1, None], None]


def test_blank_lines_are_skipped_and_line_numbers_are_right(write) -> None:
    path = write("t.csv", 'text,label\n\n"a\nb",1\nc,2\n')
    assert len(read_frame(path)) == 2
    assert [read_file(path).location(row) for row in (0, 1)] == ["line 4", "line 5"]
    assert read_file(write("t.jsonl", '{"a": 1}\n\n{"a": 2}\n')).location(1) == "line 3"


def test_a_tsv_with_stray_quotes_is_read_without_quoting(write) -> None:
    frame = read_frame(write("t.tsv", 'text\tlabel\n"so he said\tpos\nfine\tneg\n'))
    assert frame["text"].tolist() == ['"so he said', "fine"]


def test_a_field_longer_than_a_block_is_read(write) -> None:
    long = "x" * (33 << 20)
    assert read_frame(write("t.csv", f"text,label\nshort,a\n{long},b\n"))["text"].str.len().tolist() == [5, len(long)]


def test_parquet_keeps_a_named_index_and_drops_the_other(tmp_path: Path) -> None:
    FRAME.set_index("label").to_parquet(tmp_path / "named.parquet")
    assert set(read_frame(tmp_path / "named.parquet").columns) == {"text", "label"}
    FRAME.iloc[::2].to_parquet(tmp_path / "plain.parquet")
    assert list(read_frame(tmp_path / "plain.parquet").columns) == ["text", "label"]


def test_a_carriage_return_survives_csv(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": ["a\rb", "c"], "n": ["1", "2"]})
    write_frame(frame, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(read_frame(tmp_path / "t.csv"), frame)


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    frame = pd.DataFrame({"text": ["a"], "p": [float("nan")], "n": [1]})
    write_frame(frame, None)
    write_frame(frame, None, "jsonl")
    assert capfdbinary.readouterr().out == b'text,p,n\na,,1\n{"text": "a", "p": null, "n": 1}\n'


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        write_frame(FRAME, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(DataError, match="unknown output format 'cvs'; did you mean 'csv'"):
        write_frame(FRAME, path, "cvs")
    with pytest.raises(DataError, match="cannot be written"):
        write_frame(FRAME, tmp_path / "no" / "folder.csv")
    assert path.read_text() == "old"


def test_stem() -> None:
    assert [stem(Path(name)) for name in ("a.csv.gz", "b.JSONL", "v1.2.parquet", "x")] == ["a", "b", "v1.2", "x"]
