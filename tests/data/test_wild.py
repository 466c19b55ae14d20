"""Wild texts through every format: what goes in comes out, or one sentence says why not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phasefit.data import read_dataset, read_frame, read_table, write_frame
from phasefit.errors import DataError

WORDS = [
    "\U0001f600\U0001f468\u200d\U0001f469",
    "\u202e\u05e9\u05dc\u05d5\u05dd",
    "a\0b",
    '"',
    "x" * 100_000,
    "\r",
    ",\t\n",
    "\ufeff",
    "\u2028",
]
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
)
ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "parquet"])
@given(rows=ROWS)
@example(rows=[("", "")])
@example(rows=[('"', "\r"), ("\n", '"\n')])
def test_round_trip(ending: str, rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["text", "label"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{ending}"
        write_frame(frame, path)
        if ending not in ("jsonl", "parquet") and any("\0" in cell for row in rows for cell in row):
            with pytest.raises(DataError, match="a NUL character"):
                read_frame(path)
        else:
            assert read_frame(path).values.tolist() == [list(row) for row in rows]


@given(content=st.one_of(st.binary(max_size=200), st.text('ab",\n\r\t\\{}:0', max_size=60).map(str.encode)))
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "parquet"])
def test_any_bytes_are_read_or_refused_in_one_sentence(ending: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{ending}"
        path.write_bytes(content)
        message = ""
        try:
            assert len(read_frame(path)) > 0
        except DataError as error:
            message = str(error)
        assert "\n" not in message


@given(rows=ROWS)
def test_any_table_is_taken_or_refused(rows: list[tuple[str, str]]) -> None:
    texts, labels = zip(*rows, strict=True)
    try:
        data = read_dataset((list(texts), list(labels)))
    except DataError:
        assert any(not cell.strip() for row in rows for cell in row)
    else:
        assert list(data.train.texts) == list(texts)
        assert data.sha256 == read_dataset((list(texts), list(labels))).sha256


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(), st.booleans(), st.text(), st.lists(st.text()))))
def test_any_labels_are_taken_or_refused(labels: list[object]) -> None:
    message, taken = "table", None
    try:
        taken = read_table((["x"] * len(labels), labels)).labels
    except DataError as error:
        message = str(error)
    assert message.startswith("table")
    assert all(type(label) in (str, int, bool) for label in taken or ())
