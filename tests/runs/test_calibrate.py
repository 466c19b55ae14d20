"""A run whose probabilities are calibrated and which may abstain, from training to the saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phasefit.errors import DataError
from phasefit.events import Event, Note
from phasefit.models.model import TASK
from phasefit.models.storage import load_model
from running import train
from specs import run_spec
from tiny import make_table, read_json, write_csv

STEPS = ("finetune.max_steps=6", "finetune.min_steps=1", "finetune.lr=3e-3")
TEXTS, LABELS = make_table(120)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "queries.csv", TEXTS, LABELS)


def run(table: Path, model: Path, out: Path, events: list[Event] | None = None, **options: Any) -> Any:
    request = run_spec(table, recipe="finetune", settings=STEPS, model=str(model), out=out, **options)
    return train(request, (events if events is not None else []).append)


def test_a_temperature_is_chosen_on_validation_and_kept(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    result = run(table, tiny_folder, tmp_path / "run", events)
    decision = result.model.decisions[TASK]
    assert decision.temperature != 1
    assert decision.reject_below == 0
    assert "calibrated on validation" in " ".join(event.text for event in events if isinstance(event, Note))
    metrics = read_json(tmp_path / "run" / "metrics.json")
    assert metrics["decision"] == decision.to_json()
    assert {"ece", "ece_uncalibrated"} <= set(metrics["validation"]) & set(metrics["test"])
    assert "answered" not in metrics["test"]
    loaded = load_model(tmp_path / "run")
    assert loaded.decisions == result.model.decisions
    assert loaded.predict_proba(TEXTS[:5]) == pytest.approx(result.model.predict_proba(TEXTS[:5]))


def test_without_calibration_probabilities_are_those_of_the_head(
    table: Path, tiny_folder: Path, tmp_path: Path
) -> None:
    own = run(table, tiny_folder, tmp_path / "own", calibrate=False)
    calibrated = run(table, tiny_folder, tmp_path / "calibrated")
    assert own.model.decisions == {}
    assert "decision" not in own.metrics
    expected = calibrated.model.decision().uncalibrated(calibrated.model.predict_proba(TEXTS[:9]))
    assert own.model.predict_proba(TEXTS[:9]) == pytest.approx(expected)
    assert own.metrics["validation"]["log_loss"] > calibrated.metrics["validation"]["log_loss"]
    assert own.metrics["validation"]["ece"] == pytest.approx(calibrated.metrics["validation"]["ece_uncalibrated"])


def test_reject_leaves_its_share_of_validation_unanswered(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    result = run(table, tiny_folder, tmp_path / "run", reject=0.25)
    rows = result.metrics["validation"]["rows"]
    assert result.metrics["validation"]["answered"] == pytest.approx(1 - int(0.25 * rows) / rows)
    assert 0 <= result.metrics["test"]["accuracy_answered"] <= 1
    model = load_model(tmp_path / "run")
    sure = model.predict_proba(TEXTS).max(axis=1) >= model.decision().reject_below
    assert [label is not None for label in model.predict(TEXTS)] == sure.tolist()
    assert 0 < np.count_nonzero(~sure) < len(TEXTS)


def test_a_refit_model_decides_as_the_first_one_did(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    result = run(table, tiny_folder, tmp_path / "run", reject=0.1, refit=True)
    assert load_model(tmp_path / "run").decision().to_json() == result.metrics["decision"]


def test_a_continued_run_chooses_its_own_decision(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    first = run(table, tiny_folder, tmp_path / "first", reject=0.3)
    second = run(table, tmp_path / "first", tmp_path / "second", calibrate=False)
    assert first.model.decisions
    assert second.model.decisions == {}


@pytest.mark.parametrize(
    ("options", "message"), [({"validation_size": 0.0}, "there are none"), ({"reject": 1.5}, "share")]
)
def test_a_threshold_needs_rows_and_a_share(
    table: Path, tiny_folder: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        run(table, tiny_folder, tmp_path / "run", **{"reject": 0.1, **options})
    assert not (tmp_path / "run").exists()
