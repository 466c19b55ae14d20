"""Any source becomes a Table or a Dataset."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest

from phasefit.data import read_dataset, read_table, write_frame
from phasefit.errors import DataError, LabelError

FRAME = pd.DataFrame({"text": ["one", "two", "three"], "label": ["a", "b", "a"], "id": [1, 2, 3]})
TREE = pd.DataFrame({"text": ["one", "two"], "top": ["a", "b"], "leaf": ["x", "y"], "path": ["a/x", "b/y"]})


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.set_index(pd.Index([7, 7, 9])),
        FRAME.to_dict("list"),
        datasets.Dataset.from_pandas(FRAME),
        (["one", "two", "three"], ["a", "b", "a"]),
        (pd.Series(["one", "two", "three"]), np.array(["a", "b", "a"])),
        (np.array(["one", "two", "three"]), pd.Categorical(["a", "b", "a"])),
    ],
    ids=["frame", "odd index", "dict", "datasets", "lists", "series", "arrays"],
)
def test_objects_in_memory(source: object) -> None:
    table = read_table(source)
    assert list(table.texts) == ["one", "two", "three"]
    assert table.labels == ["a", "b", "a"]
    assert {type(text) for text in table.texts} == {type(label) for label in table.labels or ()} == {str}
    if table.frame is not None:
        assert table.frame.index.tolist() == [0, 1, 2]


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "jsonl", "parquet"])
def test_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"my.reviews.{ending}"
    write_frame(FRAME, path)
    for source in (path, str(path)):
        data = read_dataset(source)
        assert data.name == "my.reviews"
        assert list(data.train.texts) == ["one", "two", "three"]
        assert data.train.labels == ["a", "b", "a"]
        assert data.train.frame is not None
        assert list(data.train.frame.columns) == ["text", "label", "id"]
        assert data.validation is data.test is data.unlabelled is data.card is None


@pytest.mark.parametrize(
    "source", [["one", "two"], ("one", "two"), pd.Series(["one", "two"]), np.array(["one", "two"])]
)
def test_texts_alone(source: object) -> None:
    table = read_table(source, need_labels=False)
    assert list(table.texts) == ["one", "two"]
    assert table.labels is None
    with pytest.raises(LabelError, match="unlabelled texts: labels are needed"):
        read_table(source, what="unlabelled texts")


def test_a_plain_table_can_be_any_split(write) -> None:
    path = write("held_out.csv", "text,label\na,x\nb,\n")
    with pytest.raises(LabelError, match=r"held_out.csv, row 2"):
        read_table(path, split="test")
    assert len(read_table(FRAME, split="validation", what="validation")) == 3
    with pytest.raises(DataError, match="validation: there is no column 'x'"):
        read_table(FRAME, split="validation", what="validation", text="x")


def test_labels_keep_their_type(write) -> None:
    assert read_table(write("t.csv", "text,label\na,1\nb,2.0\n")).labels == ["1", "2.0"]
    labels = read_table(write("t.jsonl", '{"text":"a","label":1}\n{"text":"b","label":2.0}\n')).labels
    assert labels == [1, 2]
    assert [type(label) for label in labels or ()] == [int, int]
    assert read_table((["a", "b"], np.array([True, False]))).labels == [True, False]
    assert read_table(pd.DataFrame({"text": ["a", "b"], "label": [1.0, 0.0]})).labels == [1, 0]
    assert read_table((["a", "b"], [" a", "b "])).labels == [
        " a",
        "b ",
    ]  # predict returns labels as given to fit


def test_trees() -> None:
    paths = [("a", "x"), ("b", "y")]
    assert read_table(TREE, label=["top", "leaf"]).labels == paths
    assert read_table(TREE, label=["path"], tree="/").labels == paths
    assert read_table((["one", "two"], paths)).labels == paths
    assert read_table((["one", "two"], [list(path) for path in paths]), tree="/").labels == paths


def test_labels_that_are_not_needed_are_ignored(write) -> None:
    path = write("t.csv", "text,label\na,\nb,x\n")
    assert read_table(path, need_labels=False).labels is None
    with pytest.raises(LabelError):
        read_table(path, need_labels=False, label=["label"])


def test_splits_of_a_dict_and_a_folder(tmp_path: Path) -> None:
    hidden = datasets.Dataset.from_dict({"text": ["t"], "label": [-1]}).cast_column("label", datasets.ClassLabel(2))
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    train = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}, features=features)
    data = read_dataset(datasets.DatasetDict({"train": train, "dev": train, "test": hidden}))
    assert data.train.labels == ["yes", "no"]
    assert data.validation is not None
    assert data.test is not None
    assert data.test.labels is None  # withheld: no scores on this split
    write_frame(FRAME, tmp_path / "train.csv")
    write_frame(FRAME[:2], tmp_path / "val.parquet")
    folder = read_dataset(tmp_path)
    assert folder.name == tmp_path.name
    assert folder.validation is not None
    assert len(folder.validation) == 2
    assert len(read_table(tmp_path, split="validation")) == 2
    with pytest.raises(DataError, match="has no split 'test'; it has train, validation"):
        read_table(tmp_path, split="test")


def test_the_hash_is_of_the_content(tmp_path: Path) -> None:
    for name in ("a.csv", "b.jsonl"):
        write_frame(FRAME, tmp_path / name)
    one, other = read_dataset(tmp_path / "a.csv"), read_dataset(tmp_path / "b.jsonl")
    assert one.sha256 == other.sha256
    changed = [
        FRAME[:2],
        FRAME.assign(label=["a", "b", "b"]),
        FRAME.assign(text=["one", "two", "thre"]),
        FRAME.iloc[[1, 0, 2]],
        FRAME.assign(label=[1, 2, 1]),
    ]
    assert len({one.sha256, *(read_dataset(frame).sha256 for frame in changed)}) == 6
    assert (
        read_dataset(FRAME.assign(label=[1, 2, 1])).sha256 != read_dataset(FRAME.assign(label=["1", "2", "1"])).sha256
    )


def test_importing_the_data_layer_is_light() -> None:
    code = (
        "import sys, phasefit.data; print([m for m in ('torch', 'pandas', 'pyarrow', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
