"""The geometry of runs: stored, measured again, and the same after a stop."""

from __future__ import annotations

import csv
import json
import shutil
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sentence_transformers import SentenceTransformer

from phasefit.data.table import Table
from phasefit.errors import Interrupted, ModelError
from phasefit.events import Event, PhaseStarted
from phasefit.report.pictures import canvas, geometry_figure
from phasefit.report.pictures.geometry import draw
from phasefit.runs.evaluation.geometry import (
    MOST_TEXTS,
    Sample,
    listed,
    measure,
    run_geometry,
    stored_geometry,
    trained_on,
)
from phasefit.runs.fitting.kept_phases import kept_phase
from phasefit.runs.fitting.snapshots import BEFORE, Snapshots
from phasefit.runs.run import Run
from pictures import pixels, words
from running import resume, train
from specs import run_spec
from tiny import fresh_model, make_table, read_json, save_tiny, without_checksums, write_csv

pytestmark = pytest.mark.pictures

SETTINGS = ("contrast.max_steps=2", "finetune.max_steps=2", "finetune.min_steps=1", "finetune.lr=1e-2")
OF_CLASSES = {"alignment", "within", "between", "silhouette"}
ALWAYS = {"texts", "uniformity", "anisotropy"}
OF_CLASSIFIER = {"confidence_entropy", "most_entropy"}
PAIRS = {"pairs", "alignment"}


def silent(_: Event) -> None:
    pass


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pixels draw quickly."""
    monkeypatch.setattr(canvas, "DPI", 30)


@pytest.fixture(scope="module")
def validation() -> Table:
    return Table("validation", *make_table(18, seed=1))


@pytest.fixture(scope="module")
def wishes(validation: Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("data")
    recipe = folder / "two.toml"
    recipe.write_text('[[phase]]\nkind = "contrast"\n[[phase]]\nkind = "finetune"\n')
    rows = write_csv(folder / "validation.csv", validation.texts, validation.labels or ())
    given: dict[str, Any] = {"validation": str(rows), "test_size": 0, "recipe": str(recipe), "settings": SETTINGS}
    model = save_tiny(folder / "tiny")
    return given | {"data": str(write_csv(folder / "d.csv", *make_table(30))), "model": str(model), "keep_phases": True}


@pytest.fixture(scope="module")
def run(wishes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(run_spec(**wishes, out=tmp_path_factory.mktemp("runs") / "run"), silent).folder


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copied"))


def test_a_run_stores_its_geometry(run: Path) -> None:
    stages = stored_geometry(Run.open(run))
    assert stages == read_json(run / "metrics.json")["geometry"]
    assert list(stages) == [BEFORE, "contrast", "finetune"]
    assert set(stages[BEFORE]) == set(stages["contrast"]) == ALWAYS | OF_CLASSES
    assert set(stages["finetune"]) == ALWAYS | OF_CLASSES | OF_CLASSIFIER
    assert 0 < stages["finetune"]["confidence_entropy"] <= stages["finetune"]["most_entropy"] == np.log2(3)
    assert stages[BEFORE] != stages["contrast"] or stages["contrast"] != stages["finetune"]
    assert {figures["texts"] for figures in stages.values()} == {18}
    assert (run / "geometry.png").exists()
    card = (run / "README.md").read_text(encoding="utf-8")
    assert "](geometry.png)" in card
    assert "## Geometry" in card


def test_measuring_the_same_texts_gives_the_same_geometry(run: Path, validation: Table) -> None:
    messages: list[str] = []
    stages = measure(Run.open(run), Sample.of(validation), warn=messages.append, device="cpu")
    assert not messages
    stored = stored_geometry(Run.open(run))
    assert list(stages) == list(stored)
    for stage, figures in stored.items():
        assert stages[stage] == pytest.approx(figures, abs=1e-5), stage


def test_kept_phases_are_plain_encoders(run: Path, validation: Table) -> None:
    last = kept_phase(run, "finetune")
    assert last is not None
    vectors = [
        SentenceTransformer(str(folder), device="cpu").encode(validation.texts) for folder in (last, run / "encoder")
    ]
    assert np.array_equal(*vectors)
    assert kept_phase(run, "denoise") is None


def test_missing_encoders_are_reported(copied: Path, validation: Table, tmp_path: Path) -> None:
    shutil.rmtree(copied / "phases")
    manifest = read_json(copied / "phasefit.json")
    (copied / "phasefit.json").write_text(json.dumps(manifest | {"model": str(tmp_path / "gone")}))
    messages: list[str] = []
    unlabelled = Table("texts", validation.texts)
    stages = measure(Run.open(copied), Sample.of(unlabelled), warn=messages.append, device="cpu")
    assert {stage: set(figures) for stage, figures in stages.items()} == {"finetune": ALWAYS | OF_CLASSIFIER}
    assert "the model that the run started from is skipped" in messages[0]
    assert "there is no such folder" in messages[0]
    saving = "train with --keep-phases to save the encoder after each phase"
    assert messages[1] == f"the encoder after contrast was not saved; {saving}"


def test_another_model_with_the_old_name_is_skipped(copied: Path, validation: Table, tmp_path: Path) -> None:
    other = save_tiny(tmp_path, "roberta")
    manifest = read_json(copied / "phasefit.json")
    (copied / "phasefit.json").write_text(json.dumps(manifest | {"went_on_from": str(other)}))
    messages: list[str] = []
    stages = measure(Run.open(copied), Sample.of(validation), warn=messages.append, device="cpu")
    assert list(stages) == ["contrast", "finetune"]
    assert "is skipped" in messages[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "pass a table to measure it"),
        ({"geometry": {}}, "pass a table to measure it"),
        ({"geometry": {"finetune": 3}}, r"metrics\.json' is damaged \(geometry\.finetune: should be a table\)"),
    ],
)
def test_a_run_without_stored_geometry(copied: Path, content: dict[str, Any], message: str) -> None:
    (without_checksums(copied) / "metrics.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match=message):
        stored_geometry(Run.open(copied))


class StopAt:
    """Interrupts when the nth phase starts."""

    def __init__(self, start: int) -> None:
        self.left = start

    def __call__(self, event: Event) -> None:
        self.left -= isinstance(event, PhaseStarted)
        if not self.left and isinstance(event, PhaseStarted):
            raise KeyboardInterrupt


def test_stopped_and_refitted(
    wishes: dict[str, Any], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phasefit.report.run.draw_run", lambda *_: [])
    path = tmp_path / "run"
    with pytest.raises(Interrupted):
        train(run_spec(**wishes, out=path, refit=True), StopAt(2))
    with pytest.raises(Interrupted):  # the first fit and its metrics are done by then
        resume(path, StopAt(3))
    for file in sorted((run / "phases" / "finetune").rglob("*.safetensors")):
        assert file.read_bytes() == (path / file.relative_to(run)).read_bytes(), "as if it had never been stopped"
    resume(path, silent)
    assert stored_geometry(Run.open(path)) == stored_geometry(Run.open(run)), (
        "that of the first fit, whose scores are reported"
    )
    weights = [(path / part / "model.safetensors").read_bytes() for part in ("phases/finetune", "encoder")]
    assert weights[0] == weights[1], "the phases kept are those of the model"
    assert weights[0] != (run / "encoder" / "model.safetensors").read_bytes()


def test_texts_without_labels_and_models_without_a_classifier(tiny_folder: Path) -> None:
    snapshots = Snapshots("train", np.arange(5), np.full(5, -1))
    model = fresh_model(tiny_folder)
    assert run_geometry(None, model) == run_geometry(snapshots, model) == {}
    snapshots.vectors = {BEFORE: np.eye(5, dtype=np.float32), "simcse": np.ones((5, 2), np.float32)}
    stages = run_geometry(snapshots, model)
    assert [set(figures) for figures in stages.values()] == [ALWAYS, ALWAYS]
    assert stages["simcse"]["uniformity"] == 0


def test_alignment_is_over_pairs_without_labels(tiny_folder: Path) -> None:
    model = fresh_model(tiny_folder)
    taken = Snapshots("validation", np.arange(3), np.full(3, -1), np.array([4, -1, 5]))
    taken.vectors = {BEFORE: np.eye(3, dtype=np.float32), "mnr": np.eye(3, dtype=np.float32)}
    taken.other_vectors = {BEFORE: np.eye(3, dtype=np.float32)[[1, 1]], "mnr": np.eye(3, dtype=np.float32)[[0, 1]]}
    stages = run_geometry(taken, model)
    assert [set(figures) for figures in stages.values()] == [ALWAYS | PAIRS, ALWAYS | PAIRS]
    assert [figures["alignment"] for figures in stages.values()] == pytest.approx([2.0, 1.0])
    assert stages["mnr"]["pairs"] == 2


@pytest.fixture(scope="module")
def pairs() -> Table:
    texts, _ = make_table(24, seed=2)
    return Table("pairs", texts[::2], others=(texts[1::2],))


def write_pairs(path: Path, rows: Iterable[tuple[str, str]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("anchor", "positive"), *rows])
    return str(path)


def test_a_run_on_pairs_stopped_or_not(
    pairs: Table, wishes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phasefit.report.run.draw_run", lambda *_: [])
    recipe = tmp_path / "pairs.toml"
    recipe.write_text('[[phase]]\nkind = "mnr"\nmax_steps = 2\n' * 2)
    rows = list(zip(make_table(30, seed=3)[0], make_table(30, seed=4)[0], strict=True))
    held_out = write_pairs(tmp_path / "held-out.csv", zip(*pairs.sides, strict=True))
    given: dict[str, Any] = {"data": write_pairs(tmp_path / "pairs.csv", rows), "validation": held_out, "test_size": 0}
    given |= {"model": wishes["model"], "recipe": str(recipe)}
    run = train(run_spec(**given, keep_phases=True, out=tmp_path / "run"), silent).folder
    stored = stored_geometry(Run.open(run))
    assert set(stored["mnr-2"]) == ALWAYS | PAIRS
    with pytest.raises(Interrupted):
        train(run_spec(**given, out=tmp_path / "stopped"), StopAt(2))
    resume(tmp_path / "stopped", silent)
    assert stored_geometry(Run.open(tmp_path / "stopped")) == stored
    measured = measure(Run.open(run), Sample.of(pairs), warn=lambda _: None, device="cpu")
    assert list(measured) == list(stored) == [BEFORE, "mnr", "mnr-2"]
    for stage, figures in stored.items():
        assert measured[stage] == pytest.approx(figures, abs=1e-5), stage
    assert trained_on(Run.open(run), Sample.of(Table("t", ["never seen", rows[0][1]]))) == 1, (
        "an encoder knows its texts too"
    )


def test_large_tables_are_sampled_with_their_own_classes() -> None:
    labels = [("a", str(row % 3)) for row in range(MOST_TEXTS + 50)]
    sample = Sample.of(Table("big", [str(row) for row in range(len(labels))], labels))
    assert len(sample.texts) == len(sample.codes) == MOST_TEXTS
    assert [labels[int(text)] for text in sample.texts[:9]] == [("a", str(code)) for code in sample.codes[:9]]
    assert sample.texts == Sample.of(Table("big", [str(row) for row in range(len(labels))], labels)).texts


def test_names_in_a_sentence() -> None:
    assert [listed(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


# --- the picture ------------------------------------------------------------------------------------------------------

FIGURES = {"texts": 40, "alignment": 1.2, "uniformity": -3.1, "within": 0.4, "between": 0.1, "silhouette": 0.2}


def test_one_panel_per_figure(tmp_path: Path) -> None:
    last = FIGURES | {"anisotropy": 0.15, "confidence_entropy": 0.34, "most_entropy": 2.0}
    geometry_figure({BEFORE: FIGURES, "a long name 日本": FIGURES, "finetune": last}, tmp_path / "g.png", "rhymes")
    read = words(tmp_path / "g.png")
    panels = ["Alignment", "Uniformity", "Cosine similarity", "Silhouette", "Anisotropy"]
    assert [text for text in read if text in panels] == panels
    assert {"before", "finetune", "same class", "different classes", "0.15", "\N{MINUS SIGN}3.10"} <= set(read)
    assert "40 rhymes, the same at every stage" in read
    assert "confidence entropy (0: fully confident): finetune 0.34 bits (maximum 2.00)" in read
    assert pixels(tmp_path / "g.png")


@pytest.mark.parametrize(
    ("stages", "panels"),
    [
        ({"trained": {"texts": 9, "uniformity": -1.0, "anisotropy": 0.5, "silhouette": None}}, 2),
        ({"trained": {"texts": 1}}, 0),
        ({"a": {"texts": 9, "within": 0.1}, "b": {"texts": 9, "between": 0.2}}, 1),
        ({f"phase-{number}": FIGURES for number in range(9)}, 4),
        ({"a": {"texts": 9, "confidence_entropy": 0.1}, "b": {"texts": 9, "uniformity": float("nan")}}, 0),
    ],
)
def test_all_available_figures_are_drawn(tmp_path: Path, stages: dict[str, Any], panels: int) -> None:
    canvas.laid_out(draw(list(stages.values()), list(stages), "texts"), list(stages))  # nothing to warn of
    geometry_figure(stages, tmp_path / "g.png")
    titles = {"Alignment", "Uniformity", "Cosine similarity", "Silhouette", "Anisotropy"}
    assert len(titles.intersection(words(tmp_path / "g.png"))) == panels
    assert pixels(tmp_path / "g.png")


def test_one_text_of_each_class(tmp_path: Path) -> None:
    alone = {"texts": 5, "uniformity": -3.0, "between": 0.1, "anisotropy": 0.1}
    geometry_figure({BEFORE: alone, "contrast": alone, "finetune": alone}, tmp_path / "g.png")
    read = words(tmp_path / "g.png")
    assert "different classes" in read
    assert "lower: classes are further apart" in read
    assert "same class" not in read, "no line, no legend"
    high, wide = pixels(tmp_path / "g.png")
    assert wide > 2.5 * high, "three panels in one row"


def test_captions_without_classes_do_not_mention_classes(tmp_path: Path) -> None:
    paired = {"texts": 5, "pairs": 4, "alignment": 1.0, "uniformity": -3.0, "anisotropy": 0.1}
    geometry_figure({BEFORE: paired, "mnr": paired}, tmp_path / "g.png")
    read = " ".join(words(tmp_path / "g.png"))
    assert "squared distance between the texts of a pair" in read
    assert "alignment uses 4 pairs" in read
    assert "class" not in read


def test_warnings_from_drawing_are_suppressed(tmp_path: Path) -> None:
    def worried(_: Sequence[str]) -> Figure:
        warnings.warn("constrained_layout not applied", UserWarning, stacklevel=1)
        return canvas.blank(1, 1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        canvas.save(tmp_path / "g.png", worried)
    assert not caught
