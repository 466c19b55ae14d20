"""A run on a table whose texts are in a temporary file: the same results, bit for bit, as with texts in memory."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from phasefit.data.io import pieces
from phasefit.data.stored_texts import JoinedTexts, StoredTexts
from phasefit.errors import DataError, Interrupted
from phasefit.events import Event, Note, StepDone
from phasefit.explain.training_texts import training_texts
from phasefit.prepare import splitting
from phasefit.prepare.merge import merged
from phasefit.runs.fitting.index_rows import every_text
from phasefit.runs.job import read_job
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.run import Run
from running import resume, train
from specs import prepare, run_spec
from tiny import make_table, read_json

SHORT = ("denoise.max_steps=2", "contrast.max_steps=2", "finetune.max_steps=3", "finetune.lr=1e-3")
RUNS: dict[str, dict[str, Any]] = {
    "three-phase": {"recipe": "three-phase", "settings": (*SHORT, "max_length=train"), "unlabelled": "more"},
    "refit": {"recipe": "finetune", "settings": (*SHORT[2:], "max_length=auto"), "refit": True, "baselines": True},
    "views": {"recipe": "finetune", "settings": (*SHORT[2:], 'finetune.views=["delete-words"]')},
    "tfidf": {"recipe": "tfidf", "model": None},
    "mnr": {"recipe": "mnr", "settings": ("mnr.max_steps=2", "mnr.batch_size=8"), "table": "pairs"},
    "pairs": {"recipe": "finetune", "settings": SHORT[2:], "table": "pairs"},
    "multitask": {"recipe": "multitask", "settings": ("multitask.max_steps=3",), "table": "tasks"},
}


def silent(_: Event) -> None:
    pass


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    """A table of texts, more texts, a table of pairs, and a task file."""
    texts, labels = make_table(60)
    others, more = make_table(60, seed=1)[0], make_table(20, seed=2)[0]
    paths = {
        "texts": [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)],
        "more": [{"text": text} for text in more],
        "pairs": [
            {"text_a": one, "text_b": other, "label": row % 2}
            for row, (one, other) in enumerate(zip(texts, others, strict=True))
        ],
    }
    written = {name: write_rows(tmp_path / f"{name}.jsonl", rows) for name, rows in paths.items()}
    tasks = tmp_path / "tasks.toml"
    tasks.write_text("".join(f'[[task]]\nname = "{name}"\ndata = "texts.jsonl"\n' for name in ("one", "two")))
    return {**written, "tasks": tasks}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, no_pictures: None) -> pytest.MonkeyPatch:
    """Every file is large, and a piece has seven rows."""
    monkeypatch.setattr(pieces, "LARGE", 1)
    monkeypatch.setattr(pieces, "AT_ONCE", 7)
    return monkeypatch


def timeless(value: Any) -> Any:
    """Without times."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key != "seconds"}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", RUNS)
def test_the_results_are_the_same(
    tables: dict[str, Path], tiny_folder: Path, tmp_path: Path, large: pytest.MonkeyPatch, name: str
) -> None:
    wishes = {"model": str(tiny_folder), **RUNS[name]}
    source = tables[wishes.pop("table", "texts")]
    if "unlabelled" in wishes:
        wishes["unlabelled"] = tables[wishes["unlabelled"]]
    train(run_spec(source, out=tmp_path / "stored", **wishes), silent)
    large.setattr(pieces, "LARGE", 1 << 40)
    train(run_spec(source, out=tmp_path / "memory", **wishes), silent)
    for path in sorted((tmp_path / "memory").rglob("*")):
        other = tmp_path / "stored" / path.relative_to(tmp_path / "memory")
        if path.name == "metrics.json":
            assert timeless(read_json(other)) == timeless(read_json(path))
        elif path.suffix in (".safetensors", ".json") and path.name != "phasefit.json":
            assert other.read_bytes() == path.read_bytes(), path
    manifests = [read_json(tmp_path / run / "phasefit.json") for run in ("memory", "stored")]
    assert manifests[0]["data"] == manifests[1]["data"]


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"recipe": "tfidf"}, "recipe 'tfidf' keeps all training texts in memory"),
        ({"recipe": "contrast-finetune", "settings": ("contrast.pairs=explicit",)}, "contrast keeps all its pairs"),
        ({"recipe": "finetune", "settings": ("finetune.pair=together",)}, "finetune keeps the tokens of all pairs"),
        ({"recipe": "finetune"}, ""),
    ],
)
def test_what_still_needs_memory_is_reported(
    tables: dict[str, Path], large: pytest.MonkeyPatch, wishes: dict[str, Any], said: str
) -> None:
    spec = run_spec(tables["pairs" if "pair=" in str(wishes) else "texts"], **wishes)
    for size in (1, 1 << 40):
        large.setattr(pieces, "LARGE", size)
        notes: list[Event] = []
        job = read_job(spec, requested_recipe(spec), silent)
        resolve_recipe(spec, job.recipe, job.prepared, notes.append)
        texts = " ".join(note.text for note in notes if isinstance(note, Note))
        assert ("in memory" in texts) == (bool(said) and size == 1)
        assert size > 1 or said in texts


def test_no_list_of_all_texts_is_made(tables: dict[str, Path], large: pytest.MonkeyPatch) -> None:
    prepared = prepare(run_spec(tables["texts"], unlabelled=tables["more"]))
    assert isinstance(prepared.train.texts, StoredTexts)
    assert isinstance(prepared.unlabelled and prepared.unlabelled.texts, StoredTexts)
    assert isinstance(every_text(prepared), JoinedTexts)
    assert isinstance(merged(prepared).train.texts, JoinedTexts)


def test_a_stopped_run_is_resumed_and_changed_data_are_refused(
    tables: dict[str, Path], tiny_folder: Path, tmp_path: Path, large: pytest.MonkeyPatch
) -> None:
    wishes = {"model": str(tiny_folder), "recipe": "finetune", "settings": SHORT[2:], "checkpoint_minutes": 0}
    train(run_spec(tables["texts"], out=tmp_path / "whole", **wishes), silent)

    def stop(event: Event) -> None:
        if isinstance(event, StepDone):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        train(run_spec(tables["texts"], out=tmp_path / "run", **wishes), stop)
    content = tables["texts"].read_text()
    tables["texts"].write_text(content.replace("song", "sung", 1))
    with pytest.raises(DataError, match="have changed since it started"):
        resume(tmp_path / "run", silent)
    tables["texts"].write_text(content)
    resume(tmp_path / "run", silent)
    names = ("encoder/model.safetensors", "heads.safetensors", "trained_on.safetensors")
    for name in names:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert len(training_texts(Run.open(tmp_path / "run"), most=5).texts) == 5


def test_the_rows_that_are_split_off_are_limited(tables: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "MOST_HELD_OUT", 9)
    prepared = prepare(run_spec(tables["texts"]))
    notes: list[Note] = []
    prepared.report(notes.append)
    (note,) = (note.text for note in notes if note.text.startswith("split off"))
    assert "9 rows instead of 20% for validation and 10% for test; to score more rows" in note
    assert prepared.validation is not None
    assert prepared.test is not None
    assert (len(prepared.train), len(prepared.validation), len(prepared.test)) == (45, 9, 6)
