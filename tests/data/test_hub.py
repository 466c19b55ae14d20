"""Hub datasets: loaded by the real library from a local folder; only the step from id to address is replaced."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from phasefit.data import read_dataset
from phasefit.data.io import hub
from phasefit.errors import DataError, MissingExtra

CSV = {
    "train": "sentence,label\na b,1\nc d,0\n",
    "validation": "sentence,label\ne,1\n",
    "test": "sentence,label\nf,-1\n",
}


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    for split, content in CSV.items():
        (folder / f"{split}.csv").write_text(content)
    monkeypatch.setattr(hub, "_address", lambda name: str(folder))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    return folder


def test_a_hub_dataset_has_its_splits(local: Path) -> None:
    data = read_dataset("hub:owner/name")
    assert data.name == "owner-name"
    assert data.train.texts == ["a b", "c d"]
    assert data.train.labels == [1, 0]
    assert data.validation is not None
    assert data.test is not None  # -1 means 'no label' only where the column is a ClassLabel


def test_a_card_knows_the_columns_and_splits_of_its_hub_dataset(local: Path) -> None:
    data = read_dataset("hub:stanfordnlp/sst2")
    assert data.card is not None
    assert data.card.name == "sst2-phrases"
    assert data.validation is None
    assert data.test is not None
    assert data.test.texts == ["e"]
    assert data.unlabelled is not None
    assert data.unlabelled.texts == ["f"]
    assert data.unlabelled.labels is None


def test_one_sentence_when_it_cannot_be_loaded(local: Path) -> None:
    for file in local.iterdir():
        file.unlink()
    with pytest.raises(DataError, match="hub:owner/name: the hub dataset cannot be loaded: ") as caught:
        read_dataset("hub:owner/name")
    assert "\n" not in str(caught.value)


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", _unreachable)
    with pytest.raises(
        DataError, match=r"hub:owner/name: the hub cannot be reached \(no route\); set HF_HUB_OFFLINE=1"
    ):
        read_dataset("hub:owner/name")
    with pytest.raises(DataError, match="names no dataset"):
        read_dataset("hub:")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'phasefit\[hub\]'"):
        read_dataset("hub:owner/name")


def _unreachable(*args: object, **options: object) -> None:
    raise ConnectionError("no route")
