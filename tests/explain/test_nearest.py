"""Training texts of a run, read again, and the nearest of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import phasefit
from explaining import BagOfWords
from phasefit.errors import DataError, RunError
from phasefit.explain import TrainingTexts, nearest, training_texts
from phasefit.runs.run import Run
from running import train
from specs import run_spec
from tiny import make_table, write_csv


def test_the_nearest_come_first() -> None:
    training = TrainingTexts(("good film", "bad film", "very good film", "bad"), ("a", "b", "c", "d"), 4)
    (found, empty) = nearest(BagOfWords(), ["a good film", ""], training, count=2)
    assert [(one.text, one.label) for one in found] == [("good film", "a"), ("very good film", "c")]
    assert found[0].similarity == pytest.approx(1.0)
    assert len(empty) == 2
    assert nearest(BagOfWords(), ["x"], TrainingTexts((), (), 0)) == [()]


def test_pairs() -> None:
    training = TrainingTexts((("good", "film"), ("bad", "film")), ("a", "b"), 2)
    (found,) = nearest(BagOfWords(), [("bad", "film")], training)
    assert [one.label for one in found] == ["b", "a"]


@pytest.fixture(scope="module")
def run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    table = write_csv(folder / "t.csv", *make_table(40))
    settings = {"finetune.max_steps": 2}
    spec = run_spec(str(table), model=str(tiny_folder), recipe="finetune", settings=settings, out=folder / "run")
    train(spec.replace(baselines=False), lambda _: None)
    return folder


def test_the_training_texts_of_a_run_are_read_again(run: Path) -> None:
    opened = Run.open(run / "run")
    training = training_texts(opened)
    assert training.rows == len(training.texts) == opened.manifest["data"]["rows"]["train"]
    assert training.note == ""
    assert set(training.labels) == {"music", "weather", "food"}
    notes: list[object] = []
    some = training_texts(opened, most=5, listen=notes.append)
    assert (len(some.texts), some.rows) == (5, training.rows)
    assert some == training_texts(opened, most=5)
    assert some.note == f"the nearest of 5 random ones of the {training.rows} training texts"
    assert any("outside the current folder" in str(note) for note in notes)


def test_an_estimator_finds_them(run: Path, tiny_folder: Path) -> None:
    model = phasefit.load(run / "run", device="cpu")
    training = training_texts(Run.open(run / "run"))
    assert model.nearest([training.texts[3]], 1)[0][0].similarity == pytest.approx(1.0, abs=1e-5)
    (explanation, *_) = model.explain([training.texts[3]])
    assert explanation.label in ("music", "weather", "food")
    assert model.deletion_test([explanation]).explanations == 1
    assert "pf-words" in explanation._repr_html_()


def test_data_that_changed_or_are_gone_are_refused(run: Path, tmp_path: Path) -> None:
    opened = Run.open(run / "run")
    original = (run / "t.csv").read_bytes()
    try:
        (run / "t.csv").write_bytes(original + b"one more text,music\n")
        with pytest.raises(DataError, match="have changed since it was trained"):
            training_texts(opened)
        (run / "t.csv").unlink()
        with pytest.raises(DataError, match="cannot be read again"):
            training_texts(opened)
    finally:
        (run / "t.csv").write_bytes(original)
    forgotten = Run(opened.source, {name: value for name, value in opened.manifest.items() if name != "request"})
    with pytest.raises(RunError, match="does not record its training data"):
        training_texts(forgotten)


@pytest.mark.parametrize(
    "request_", [7, [], {"data": 7}, {"data": {"in memory": True}}, {"data": "t.csv", "seed": "x"}]
)
def test_a_damaged_request_is_one_error(run: Path, request_) -> None:
    opened = Run.open(run / "run")
    damaged = Run(opened.source, {**json.loads(json.dumps(dict(opened.manifest))), "request": request_})
    with pytest.raises((RunError, DataError)):
        training_texts(damaged)
