"""Wild texts, labels and bytes survive a round trip or raise a DataError of one sentence; never another exception."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from phasefit.data import LabelSpace, label_space, read_dataset, read_frame, read_table, split, write_frame
from phasefit.errors import DataError, LabelError
from wild import ANY_TEXT, TEXT

ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8)
ENDINGS = ["csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz", "parquet.gz"]
HAS_NUL_REFUSED = ("csv", "tsv")


def half(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def through_a_file(frame: pd.DataFrame, ending: str) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{ending}"
        write_frame(frame, path)
        return read_frame(path)


@pytest.mark.parametrize("ending", ENDINGS)
@given(rows=ROWS)
@example(rows=[("", "")])
@example(rows=[('"', "\r"), ("\n", '"\n')])
@example(rows=[("\ufeff", "\ufeff")])
def test_round_trip(ending: str, rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["text", "label"])
    if ending.startswith(HAS_NUL_REFUSED) and any("\0" in cell for row in rows for cell in row):
        with pytest.raises(DataError, match="a NUL character"):
            through_a_file(frame, ending)
    else:
        assert through_a_file(frame, ending).values.tolist() == [list(row) for row in rows]


@pytest.mark.parametrize("ending", ENDINGS)
@given(names=st.lists(TEXT, min_size=1, max_size=3, unique=True), cells=st.lists(ANY_TEXT, min_size=1, max_size=3))
@example(names=["a"], cells=[""])
@example(names=['{"'], cells=["a"])
@example(names=["a;b"], cells=["a"])
def test_wild_columns_are_kept_or_refused(ending: str, names: list[str], cells: list[str]) -> None:
    assume(not names[0].startswith("\ufeff"))  # at the start of a file this is the byte order mark
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name in names})
    message = ""
    try:
        result = through_a_file(frame, ending)
    except DataError as error:
        message = str(error)
    else:
        assert [str(name) for name in result.columns] == names
        assert result.values.tolist() == [[cell] * len(names) for cell in cells]
    if not any(half(text) or "\0" in text for text in [*names, *cells]) and all(name.isalnum() for name in names):
        assert message == "", "nothing to refuse here"


def sample_file(ending: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{ending}"
        write_frame(pd.DataFrame({"text": ["é 🙂", 'a "b"', "c\nd"], "label": ["x", "y", "x"]}), path)
        return path.read_bytes()


SAMPLES = {ending: sample_file(ending) for ending in ENDINGS}
EDITS = st.lists(st.tuples(st.integers(0, 5000), st.binary(max_size=3), st.integers(0, 3)), min_size=1, max_size=4)


def read_or_refuse(ending: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{ending}"
        path.write_bytes(content)
        message = ""
        try:
            assert len(read_frame(path)) > 0
            read_table(path, text="text", label=("label",))
        except DataError as error:
            message = str(error)
        assert "\n" not in message
        message.encode()  # it can be printed


@given(content=st.one_of(st.binary(max_size=200), st.text('ab",\n\r\t\\{}[]:0u d8', max_size=60).map(str.encode)))
@pytest.mark.parametrize("ending", ENDINGS)
def test_any_bytes_are_read_or_refused_in_one_sentence(ending: str, content: bytes) -> None:
    read_or_refuse(ending, content)
    if ending.endswith(".gz"):
        read_or_refuse(ending, gzip.compress(content))


@given(edits=EDITS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_read_or_refused_in_one_sentence(ending: str, edits: list[tuple[int, bytes, int]]) -> None:
    content = SAMPLES[ending]
    for place, put, gone in edits:
        place %= len(content) + 1
        content = content[:place] + put + content[place + gone :]
    read_or_refuse(ending, content)


@given(rows=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=8))
def test_any_table_is_read_or_refused(rows: list[tuple[str, str]]) -> None:
    texts, labels = zip(*rows, strict=True)
    try:
        data = read_dataset((list(texts), list(labels)))
    except DataError as error:
        assert any(not cell.strip() or half(cell) for row in rows for cell in row)
        str(error).encode()
    else:
        assert list(data.train.texts) == list(texts)
        assert data.sha256 == read_dataset((list(texts), list(labels))).sha256


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(), st.booleans(), st.text(), st.lists(st.text()))))
def test_any_labels_are_read_or_refused(labels: list[object]) -> None:
    message, taken = "table", None
    try:
        taken = read_table((["x"] * len(labels), labels)).labels
    except DataError as error:
        message = str(error)
    assert message.startswith("table")
    kinds = {type(label) for label in taken or ()}
    assert kinds <= {str, int, bool} or kinds in ({float}, {frozenset})
    assert all(type(part) in (str, int, bool) for label in taken or () if type(label) is frozenset for part in label)


# --- label spaces -----------------------------------------------------------------------------------------------------

PART = st.one_of(TEXT, st.integers(), st.booleans())
PATHS = st.lists(st.lists(PART, min_size=1, max_size=3).map(tuple), min_size=1, max_size=8)
LABELS: st.SearchStrategy[list[Any]] = st.one_of(st.lists(PART, min_size=1, max_size=12), PATHS)


@given(labels=LABELS, more=LABELS)
@example(labels=[(True, "a"), (1, "a"), (2, "a")], more=["x"])
@example(labels=["1", 1, "2"], more=["x"])
@example(labels=[("",), (1,)], more=[True])
@example(labels=[("",), ("00",)], more=[0, False])
@example(labels=[("a/b", "c"), ("a", "b/c")], more=["x"])
def test_label_spaces(labels: list[Any], more: list[Any]) -> None:
    try:
        space = label_space(labels)
    except LabelError:
        assert is_doubtful(labels)
        return
    codes = space.encode(labels)
    assert (codes >= 0).all()
    assert codes.max() == len(space) - 1, "no class without a label"
    back = space.decode(codes)
    assert list(zip(map(type, flat(back)), flat(back), strict=True)) == list(
        zip(map(type, flat(labels)), flat(labels), strict=True)
    )
    again = LabelSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert again.encode(back).tolist() == codes.tolist()
    assert space.targets(codes).shape[0] == len(labels)
    try:
        wider = space.extend(more)
    except LabelError:
        assert is_doubtful([*labels, *more])
        return
    assert wider.encode(labels).tolist() == codes.tolist(), "old codes stay"
    assert all(wider.knows(label) for label in more)
    assert wider.encode(more).max(initial=-1) < len(wider)


def flat(labels: list[Any]) -> list[Any]:
    return [part for label in labels for part in (label if isinstance(label, tuple) else (label,))]


def is_doubtful(labels: list[Any]) -> bool:
    """One class only, two types, or two labels that are written alike."""
    written = {"/".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels}
    kinds = {type(part) for part in flat(labels)}
    return len(written) < max(2, len(set(labels))) or {bool, int} <= kinds


# --- splits -----------------------------------------------------------------------------------------------------------

SIZES = st.lists(st.sampled_from([1, 1, 1, 2, 3, 4, 7, 50, 1000]), min_size=1, max_size=40)
SHARES = st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.25, 1 / 3, 0.4])


@settings(max_examples=100)
@given(sizes=SIZES, validation=SHARES, test=SHARES, seed=st.integers(0, 2**64), far=st.booleans())
@example(sizes=[10_000] + [1] * 300, validation=0.2, test=0.1, seed=0, far=False)
@example(sizes=[1] * 50, validation=0.2, test=0.1, seed=0, far=True)
def test_splits(sizes: list[int], validation: float, test: float, seed: int, far: bool) -> None:
    assume(validation + test < 1)
    codes = np.repeat(np.arange(len(sizes)) * (10**12 if far else 1), sizes)  # codes may have gaps
    codes = np.random.default_rng(seed).permutation(codes)
    parts = split(codes, validation=validation, test=test, seed=seed)
    every = np.concatenate([parts.train, parts.validation, parts.test])
    assert np.array_equal(np.sort(every), np.arange(len(codes))), "disjoint and complete"
    assert set(codes[parts.train].tolist()) == set(codes.tolist()), "every class is trained on"
    assert parts.lone == sizes.count(1)
    wanted = 2 * max(1, (validation > 0) + (test > 0))
    for share, rows in ((validation, parts.validation), (test, parts.test)):
        held = dict(zip(*np.unique(codes[rows], return_counts=True), strict=True))
        for code, size in zip(*np.unique(codes, return_counts=True), strict=True):
            count = held.get(code, 0)
            assert size > 1 or not count, "a lone row stays in train"
            assert abs(count - size * share) <= 1 + 1e-9, "stratified within one row"
            assert count or not share or size < wanted, "in every part with four or more rows"
    again = split(codes, validation=validation, test=test, seed=seed)
    assert np.array_equal(again.test, parts.test)
