"""A large file that is read piece by piece gives the same table, and the same errors, as one read as a whole."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from phasefit.data import read_dataset, read_table
from phasefit.data.coded_labels import CodedLabels
from phasefit.data.io import pieces
from phasefit.data.stored_texts import StoredTexts
from phasefit.data.table import Table, content_hash
from phasefit.errors import PhasefitError

Rows = list[dict[str, Any]]
FORMATS = ("parquet", "jsonl", "jsonl.gz", "csv", "tsv", "csv.gz")
TYPED = ("parquet", "jsonl")
ROWS: Rows = [{"id": row, "text": f"text {row % 7} \u2603, of row {row}", "label": "abc"[row % 3]} for row in range(20)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large, and a piece has three rows."""
    monkeypatch.setattr(pieces, "LARGE", 1)
    monkeypatch.setattr(pieces, "AT_ONCE", 3)


def written(folder: Path, rows: Rows, ending: str) -> Path:
    path = folder / f"table.{ending}"
    frame = pd.DataFrame(rows)
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending.startswith("jsonl"):
        content = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    return path


def outcome(read: Callable[[], Table]) -> dict[str, Any]:
    """Everything about a table, or its error."""
    try:
        table = read()
    except PhasefitError as error:
        return {"error": str(error), "type": type(error)}
    return {
        "sides": [list(side) for side in table.sides],
        "labels": None if table.labels is None else [(type(label), label) for label in table.labels],
        "kind": table.kind,
        "levels": table.levels,
        "columns": table.columns,
        "rows": None if table.rows is None else table.rows.tolist(),
        "dropped": table.dropped,
        "file": table.file,
        "hash": content_hash([table]),
    }


def both(path: Path, **options: Any) -> dict[str, Any]:
    """The outcome, which is the same in both ways."""
    whole = outcome(lambda: read_table(path, **options))
    assert outcome(lambda: read_table(path, store=True, **options)) == whole
    return whole


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ROWS, ending)
    assert both(path)["kind"] == "single"
    table = read_table(path, store=True)
    assert isinstance(table.texts, StoredTexts)
    assert isinstance(table.labels, CodedLabels)
    assert table.frame is None


def test_small_files_and_other_readers_keep_texts_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ROWS, "jsonl")
    assert isinstance(read_table(path).texts, list)
    monkeypatch.setattr(pieces, "LARGE", path.stat().st_size + 1)
    assert isinstance(read_table(path, store=True).texts, list)
    packed = written(tmp_path, ROWS, "jsonl.gz")
    monkeypatch.setattr(pieces, "LARGE", packed.stat().st_size + 1)
    assert isinstance(read_table(packed, store=True).texts, StoredTexts)


def test_many_rows_make_a_parquet_file_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ROWS, "parquet")
    monkeypatch.setattr(pieces, "LARGE", 1 << 40)
    assert isinstance(read_table(path, store=True).texts, list)
    monkeypatch.setattr(pieces, "LARGE_ROWS", len(ROWS))
    assert isinstance(read_table(path, store=True).texts, StoredTexts)


@pytest.mark.parametrize("ending", TYPED)
@pytest.mark.parametrize(
    ("labels", "options", "kind"),
    [
        ([1, 0, 3, 1], {}, "single"),
        ([True, False, True, True], {}, "single"),
        ([1.0, 2.0, 1.0, 2.0], {}, "single"),
        ([0.5, 2.0, 1.5, 0.5], {}, "score"),
        (["low", "high", "low", "high"], {"levels": ("low", "high")}, "score"),
        (["a/b", "a/c", "a/b", "d"], {"tree": "/"}, "tree"),
        (["a|b", "b", "a", "b|a"], {}, "multi"),
        (["a;b", "b", "", "b"], {"separator": ";"}, "multi"),
        ([["a", "b"], ["b"], [], ["b"]], {}, "multi"),
        ([[1, 2], [2], [1], [2]], {}, "multi"),
    ],
)
def test_every_kind_of_labels(
    tmp_path: Path, ending: str, labels: list[Any], options: dict[str, Any], kind: str
) -> None:
    path = written(tmp_path, [{"text": f"text {row}", "label": label} for row, label in enumerate(labels)], ending)
    assert both(path, **options)["kind"] == kind


def test_labels_of_different_types(tmp_path: Path) -> None:
    rows: Rows = [{"text": "a", "label": label} for label in ("1", 1, "b", 2.0, 1.0)]
    assert both(written(tmp_path, rows, "jsonl"))["labels"] == [(str, "1"), (int, 1), (str, "b"), (int, 2), (int, 1)]


@pytest.mark.parametrize("ending", FORMATS)
def test_levels_in_columns_of_their_own(tmp_path: Path, ending: str) -> None:
    rows = [{"text": f"text {row}", "one": "ab"[row % 2], "two": "xyz"[row % 3]} for row in range(8)]
    assert both(written(tmp_path, rows, ending), label=("one", "two"))["kind"] == "tree"


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("empty", ["refuse", "drop", None])
@pytest.mark.parametrize("column", ["text", "label"])
def test_empty_cells(tmp_path: Path, ending: str, empty: str | None, column: str) -> None:
    rows = [row | ({column: None} if row["id"] in (4, 5, 19) else {}) for row in ROWS]
    got = both(written(tmp_path, rows, ending), empty=empty)
    assert got.get("dropped", (5, 6, 20)) == (5, 6, 20)
    assert ("first of 3 such rows" in got.get("error", "")) == (empty != "drop")


@pytest.mark.parametrize("empty", ["refuse", "drop"])
def test_every_cell_is_empty(tmp_path: Path, empty: str) -> None:
    for column in ("text", "label"):
        path = written(tmp_path, [row | {column: None} for row in ROWS], "jsonl")
        assert "error" in both(path, empty=empty)
        assert both(path, empty=empty, need_labels=False)


def test_a_split_whose_labels_are_withheld(tmp_path: Path) -> None:
    written(tmp_path, ROWS, "jsonl").rename(tmp_path / "train.jsonl")
    written(tmp_path, [row | {"label": None} for row in ROWS], "jsonl").rename(tmp_path / "test.jsonl")
    whole, stored = (read_dataset(tmp_path, store=store) for store in (False, True))
    assert stored.test is not None
    assert stored.test.labels is None
    assert isinstance(stored.test.texts, StoredTexts)
    assert stored.sha256 == whole.sha256


@pytest.mark.parametrize(
    "rows",
    [
        [*ROWS[:5], {"id": 5, "text": 7, "label": "a"}, *ROWS[6:]],
        [*ROWS[:5], {"id": 5, "text": "a", "label": {"b": 1}}, *ROWS[6:]],
        [*ROWS[:5], {"id": 5, "text": "a", "label": [["b"]]}, *ROWS[6:]],
        [{"id": row} for row in range(5)],
        [{} for _ in range(5)],
    ],
)
def test_bad_rows(tmp_path: Path, rows: Rows) -> None:
    assert "error" in both(written(tmp_path, rows, "jsonl"))


@pytest.mark.parametrize(
    "content",
    [
        b'{"text": "a", "label": "b"}\n' * 5 + b"{\n",
        b'{"text": "a", "label": "b"}\n' * 5 + b'{"text": "\\ud800", "label": "b"}\n',
        b'{"text": "a", "label": "b"}\n' * 5 + b"7\n",
        b"\n\n",
        b'[{"text": "a", "label": "b"}, {"text": "c", "label": "d"}]',  # a list: read as a whole
        b'{"text": "caf\xe9", "label": "b"}\n' * 5,  # Windows-1252: read as a whole
        '{"text": "a", "label": "b"}\n'.encode("utf-16") * 1,
        b'\xef\xbb\xbf{"text": "a", "label": "b"}\n\n{"text": "c", "label": "b"}',
    ],
)
def test_unusual_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.jsonl"
    path.write_bytes(content)
    both(path)


@pytest.mark.parametrize(
    "content",
    [
        "text,label\n" + "a,b\n" * 5 + "c\n",
        'text,label\n"a\nb",b\nc,"d, e"\n\n"say ""x""",f\n',
        "text,label\n",
        "text;label\na;b\nc;d\n",
        'text,label\na,b\n"c,d\n',  # a quote that is not closed
        'text,label\na "b" c,b\n"x"y,b\n',
        "text,label\na,b\nc\0,d\n",
        "text,label\r\na,b\r\nc,d\r\n",
    ],
)
def test_unusual_delimited_files(tmp_path: Path, content: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode())
    both(path)


def test_tsv_with_quotes_that_mean_nothing_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_text('text\tlabel\na "b\tc\n"d\te\n')
    assert both(path)["sides"] == [['a "b', '"d']]
    assert isinstance(read_table(path, store=True).texts, list)


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    path = written(tmp_path, ROWS, "parquet")
    content = path.read_bytes()
    path.write_bytes(content[:200] + b"\0" * 200 + content[400:])
    both(path)
    path.write_bytes(content[:-20])
    assert "is not a Parquet file or is damaged" in both(path)["error"]


def test_a_column_name_with_a_dot_and_a_named_index(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a.text": ["x", "y"], "a.label": ["b", "c"]}, index=pd.Index([3, 4], name="number"))
    frame.to_parquet(tmp_path / "table.parquet")
    assert both(tmp_path / "table.parquet", text="a.text", label=("a.label",))["sides"] == [["x", "y"]]


def test_keys_that_only_later_objects_have(tmp_path: Path) -> None:
    rows: Rows = [{"text": f"text {row}"} for row in range(10)]
    assert "no label column" in both(written(tmp_path, rows, "jsonl"))["error"]
    rows[7]["label"] = "a"
    assert "label is missing" in both(written(tmp_path, rows, "jsonl"))["error"]
    rows = [{"content": f"text {row}", "label": "ab"[row % 2]} for row in range(10)]
    rows[8]["text"] = "another column"  # which is preferred, or makes the choice ambiguous
    both(written(tmp_path, rows, "jsonl"))
    both(written(tmp_path, rows, "jsonl"), text="text", empty="drop")


def test_pairs_and_single_sides(tmp_path: Path) -> None:
    rows: Rows = [{"text_a": f"one {row}", "text_b": f"two {row}", "label": "ab"[row % 2]} for row in range(10)]
    path = written(tmp_path, rows, "parquet")
    assert len(both(path, sides="two")["sides"]) == 2
    assert both(path, sides="each", need_labels=False)["sides"][0][:2] == ["one 0", "two 0"]
    assert "error" in both(path)
    rows[4]["text_b"] = None
    assert "column 'text_b'" in both(written(tmp_path, rows, "parquet"), sides="two", empty="refuse")["error"]
    assert both(written(tmp_path, rows, "parquet"), sides="two", empty="drop")["dropped"] == (5,)
