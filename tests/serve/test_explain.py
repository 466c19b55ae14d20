"""`POST /explain`: words, test and training texts, for single texts and pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phasefit.explain import TrainingTexts, TrainingVectors
from phasefit.models.predictor import TASK, Predictor
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models
from phasefit.serve.service import Service
from served import TEXTS, made_model, made_service, post


def training_of(path: Path, predictor: Predictor) -> dict[str, Any]:
    return {TASK: TrainingVectors(predictor, TrainingTexts(tuple(TEXTS), ("a", "b", "c", "d"), 4))}


def test_words_and_training_texts(tiny_folder: Path) -> None:
    model = made_model(tiny_folder)
    service = Service(Models({"tiny": Path("tiny")}, lambda _: model, Limits(), training_of), Limits())
    content = post(service, "/explain", {"inputs": TEXTS[1]}).json()
    (one,) = content["explanations"]
    assert one["label"] == model.predict([TEXTS[1]])[0]
    assert [word["text"] for word in one["words"]] == TEXTS[1].split()
    assert np.isfinite([word["weight"] for word in one["words"]]).all()
    assert content["test"]["sentence"]
    assert content["neighbours"][0] == {"text": TEXTS[1], "label": "b", "similarity": pytest.approx(1, abs=1e-5)}
    assert len(content["neighbours"]) == 3


def test_pairs_and_several_tasks(tiny_folder: Path) -> None:
    service = made_service({"tiny": made_model(tiny_folder, ("single", "pairs"))})
    content = post(service, "/explain", {"model": "tiny/pairs", "inputs": TEXTS[:2]}).json()
    assert {word["side"] for word in content["explanations"][0]["words"]} == {0, 1}
    assert content["neighbours"] == []


def test_explanations_can_be_switched_off(tiny_folder: Path) -> None:
    service = made_service({"tiny": made_model(tiny_folder)}, explains=False)
    response = post(service, "/explain", {"inputs": TEXTS[0]})
    assert response.status_code == 404
    assert "--no-explain" in response.json()["error"]


def test_an_explanation_is_charged_more_than_a_prediction(tiny_folder: Path) -> None:
    service = made_service({"tiny": made_model(tiny_folder)}, Limits(queue_tokens=128, batch_tokens=128, max_texts=9))
    assert post(service, "/explain", {"inputs": TEXTS[0]}).status_code == 200
    service.batcher._held_tokens = 1
    assert post(service, "/explain", {"inputs": TEXTS[0]}).status_code == 429
    assert post(service, "/predict", {"inputs": TEXTS[0]}).status_code == 200
