from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from phasefit.models.encoder.inference import encode_rows
from phasefit.phases.contract import PhaseData
from phasefit.runs.fitting.snapshots import Snapshots, some_of_each
from tiny import fresh_model, make_data, make_table

PARTS = ("train", "validation", "unlabelled")


@pytest.fixture(scope="module")
def data(tiny_folder: Path) -> PhaseData:
    texts, labels = make_table(rows=40)
    return make_data(fresh_model(tiny_folder).encoder, texts, labels, validation=12, unlabelled=["a song"])


def test_stages_are_kept_in_order_for_the_same_validation_texts(data: PhaseData, tiny_folder: Path) -> None:
    encoder = fresh_model(tiny_folder).encoder
    snapshots = Snapshots.of(data, seed=0)
    assert snapshots.split == "validation"
    assert snapshots.rows.tolist() == data.validation.tolist()
    assert snapshots.codes.tolist() == data.codes[data.validation].tolist()
    encoder.train()
    for name in ("before training", "denoise", "before training"):
        snapshots.take(name, encoder, data.tokens)
    assert encoder.training, "its mode is unchanged"
    assert list(snapshots.vectors) == ["before training", "denoise"]
    expected = encode_rows(encoder, data.tokens, data.validation).numpy()
    for vectors in snapshots.vectors.values():
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, expected), "without dropout"


def test_training_texts_are_used_without_validation(tiny_folder: Path) -> None:
    texts, labels = make_table(rows=40)
    data = make_data(fresh_model(tiny_folder).encoder, texts, labels, validation=0, unlabelled=["a song"])
    snapshots = Snapshots.of(data, seed=0, most=10)
    assert snapshots.split == "train"
    assert len(set(snapshots.rows.tolist())) == 10
    assert (snapshots.codes >= 0).all()
    assert set(snapshots.codes.tolist()) == {0, 1, 2}
    assert snapshots.rows.tolist() == Snapshots.of(data, seed=0, most=10).rows.tolist()
    assert snapshots.rows.tolist() != Snapshots.of(data, seed=1, most=10).rows.tolist()


@pytest.mark.parametrize(("validation", "split"), [(12, "validation"), (0, "train"), (None, "unlabelled")])
def test_any_texts_are_used_without_labels(data: PhaseData, validation: int | None, split: str) -> None:
    rows, none = np.arange(20), np.empty(0, np.int64)
    cut = len(rows) - (validation or 0)
    parts = (none, none, rows) if validation is None else (rows[:cut], rows[cut:], none)
    bare = replace(data, codes=np.full(len(data.codes), -1), **dict(zip(PARTS, parts, strict=True)))
    snapshots = Snapshots.of(bare, seed=0, most=10)
    assert snapshots.split == split
    assert snapshots.texts == ("training texts" if split == "train" else f"{split} texts")
    assert len(snapshots.rows) == 10
    assert set(snapshots.rows.tolist()) <= set(getattr(bare, split).tolist())
    assert (snapshots.codes == -1).all()


def test_a_few_of_each_class_then_in_proportion() -> None:
    codes = np.repeat([0, 1, 2, 3], [9000, 900, 90, 2])
    chosen = some_of_each(codes, 500, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 500
    assert (np.diff(chosen) > 0).all()
    counts = np.bincount(codes[chosen])
    assert counts[3] == 2
    assert counts[2] >= 3
    assert counts[0] / counts[1] == pytest.approx(10, rel=0.1)


def test_more_classes_than_texts() -> None:
    chosen = some_of_each(np.repeat(np.arange(30), 2), 20, np.random.default_rng(0))
    assert len(set((chosen // 2).tolist())) == 20, "no class twice before others have one"


def test_few_texts_are_all_used() -> None:
    assert some_of_each(np.array([1, 0, 1]), 500, np.random.default_rng(0)).tolist() == [0, 1, 2]


def test_both_texts_of_unlabelled_pairs_are_used(data: PhaseData, tiny_folder: Path) -> None:
    encoder = fresh_model(tiny_folder).encoder
    others = np.full((len(data.codes), 2), -1)
    others[data.validation[:5], 0] = data.train[:5]
    paired = replace(data, codes=np.full(len(data.codes), -1), others=others)
    taken = Snapshots.of(paired, seed=0)
    taken.take("mnr", encoder, data.tokens)
    texts, positives = taken.pairs("mnr") or ()
    assert np.array_equal(texts, encode_rows(encoder, data.tokens, data.validation).numpy()[:5])
    assert np.array_equal(positives, encode_rows(encoder, data.tokens, data.train[:5]).numpy())
    again = Snapshots.from_json(json.loads(json.dumps(taken.to_json())), taken.arrays)
    assert again.to_json() == taken.to_json()
    assert all(map(np.array_equal, again.arrays, taken.arrays))
    assert list(again.other_vectors) == ["mnr"]
    labelled = Snapshots.of(replace(data, others=others), seed=0)
    labelled.take("mnr", encoder, data.tokens)
    assert labelled.pairs("mnr") is None, "alignment is over classes there"


def test_what_is_missing_in_a_checkpoint_is_named() -> None:
    whole = {"split": "train", "rows": [3, 4], "codes": [-1, -1], "others": [-1, -1], "stages": ["a", "b"]}
    vectors = [np.ones((2, 3)), np.zeros((2, 3))]
    read = Snapshots.from_json(whole, vectors)
    assert list(read.vectors) == ["a", "b"]
    assert read.pairs("a") is None
    assert not read.paired.any()
    for name in whole:
        with pytest.raises(KeyError, match=name):
            Snapshots.from_json({key: value for key, value in whole.items() if key != name}, vectors)


def test_the_label_of_a_pair_is_not_the_class_of_its_first_text(data) -> None:
    snapshots = Snapshots.of(replace(data, of_pairs=True), 0)
    assert (snapshots.codes == -1).all()
    assert not snapshots.paired.any(), "not every pair belongs together"
