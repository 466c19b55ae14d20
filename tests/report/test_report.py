from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from phasefit.events import Scored, StepDone
from phasefit.metrics import classification_metrics
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import read_recipe
from phasefit.report.facts import layout
from phasefit.report.facts.run import RunFacts
from phasefit.report.pictures import canvas, draw_run
from phasefit.report.run import write_report
from phasefit.runs.execution import FitResult
from phasefit.runs.fitting.fit import Fitted
from phasefit.runs.fitting.history import History
from phasefit.runs.fitting.snapshots import Snapshots
from phasefit.runs.results import FinishedRun
from pictures import pixels, words
from specs import prepare, run_spec
from tiny import fresh_model, make_data, make_table

pytestmark = pytest.mark.pictures

NAMES = ["food", "music", "weather"]


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pixels draw quickly."""
    monkeypatch.setattr(canvas, "DPI", 40)


@pytest.fixture
def history() -> History:
    history = History()
    for step in range(1, 4):
        history.add(StepDone("contrast", step, 3, step / 3, 1 / step, 1e-4, 0.1))
    history.add(Scored("contrast", 3, 1.0, {"probe": 0.9}, "probe", improved=True))
    return history


@pytest.fixture
def snapshots(tiny_folder: Path) -> Snapshots:
    encoder = fresh_model(tiny_folder).encoder
    data = make_data(encoder, *make_table(), validation=15)
    taken = Snapshots.of(data, seed=0)
    for stage in ("before training", "contrast"):
        taken.take(stage, encoder, data.tokens)
    return taken


def finished(
    folder: Path,
    prepared: Prepared,
    metrics: dict[str, Any],
    history: History,
    manifest: dict[str, Any],
    snapshots: Snapshots | None = None,
    outputs: dict[str, dict[str, np.ndarray]] | None = None,
) -> FinishedRun:
    fitted = Fitted(history=history, snapshots=snapshots)
    model: Any = SimpleNamespace(heads={})  # a model without heads has no mistakes to explain
    result = FitResult(model, metrics, fitted, threads=1, outputs=outputs or {})
    return FinishedRun(folder, read_recipe("finetune"), prepared, result, manifest)


def drawn_of(folder: Path, metrics: dict[str, Any], history: History, snapshots: Snapshots | None = None) -> list[str]:
    texts, labels = make_table()
    prepared = prepare(run_spec(data={"text": texts, "label": labels}, test_size=0))
    return draw_run(folder, RunFacts.of(finished(folder, prepared, metrics, history, {}, snapshots)))


def scores() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return classification_metrics(np.arange(30) % 3, rng.dirichlet(np.ones(3), size=30), NAMES)


def test_everything_is_drawn_as_png_and_svg(tmp_path: Path, history: History, snapshots: Snapshots) -> None:
    drawn = drawn_of(tmp_path, {"test": scores()}, history, snapshots)
    assert drawn == ["confusion.png", "classes.png", "reliability.png", "embeddings.png", "history.png"]
    assert all(pixels(tmp_path / name) for name in drawn)
    assert len(list(tmp_path.iterdir())) == 2 * len(drawn), "a PNG and an SVG each"
    read = words(tmp_path / "embeddings.png")
    assert {"before training", "after contrast", *NAMES} <= set(read)
    assert any(text.startswith("15 validation texts") for text in read)
    assert any(text.endswith("(unchanged)") for text in read)


def test_pictures_without_data_are_skipped(tmp_path: Path, history: History, tiny_folder: Path) -> None:
    assert drawn_of(tmp_path, {}, history) == ["history.png"]
    data = make_data(fresh_model(tiny_folder).encoder, *make_table(), validation=0)
    nothing = Snapshots.of(data, seed=0)
    assert drawn_of(tmp_path, {}, history, nothing) == ["history.png"]
    assert {path.name for path in tmp_path.iterdir()} == {"history.png", "history.svg"}


def test_the_geometry_is_drawn_with_the_map(tmp_path: Path, history: History, snapshots: Snapshots) -> None:
    shape = {stage: {"texts": 15, "uniformity": -2.0} for stage in snapshots.vectors}
    drawn = drawn_of(tmp_path, {"geometry": shape}, history, snapshots)
    assert drawn == ["embeddings.png", "geometry.png", "history.png"]
    assert "15 validation texts, the same at every stage" in words(tmp_path / "geometry.png")


def test_a_run_without_a_classifier_has_the_card_of_an_encoder(tmp_path: Path, history: History) -> None:
    texts, labels = make_table()
    prepared = prepare(run_spec(data={"text": texts, "label": labels}))
    write_report(finished(tmp_path, prepared, {}, history, {"heads": {}}))
    assert "A sentence encoder" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_the_card_shows_what_was_drawn(tmp_path: Path, history: History, snapshots: Snapshots) -> None:
    texts, labels = make_table()
    prepared = prepare(run_spec(data={"text": texts, "label": labels}, test_size=0))
    write_report(finished(tmp_path, prepared, {"validation": scores()}, history, {}, snapshots))
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    for name in ("confusion", "classes", "reliability", "embeddings", "history"):
        assert f"]({name}.png)" in card
        assert f"]({name}.svg)" in card
    assert "](report.html)" in card


def test_the_page_and_the_pictures_share_the_map(
    tmp_path: Path, history: History, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: list[int] = []
    stable_layouts = layout.stable_layouts
    monkeypatch.setattr(layout, "stable_layouts", lambda stages: laid_out.append(len(stages)) or stable_layouts(stages))
    texts, labels = make_table()
    prepared = prepare(run_spec(data={"text": texts, "label": labels}, test={"text": texts[:9], "label": labels[:9]}))
    assert prepared.test is not None
    outputs = {"test": {"default": np.full((len(prepared.test), 3), 1 / 3, dtype=np.float32)}}
    given = (prepared, {"test": scores()}, history, {"command": "phasefit train"}, snapshots, outputs)
    write_report(finished(tmp_path, *given))
    assert laid_out == [2], "once, for the picture and for the page"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "After contrast" in page
    assert "The most confident mistakes" in page
