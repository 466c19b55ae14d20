"""`POST /explain`: words, test and training texts, for single texts and pairs."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phasefit.explain import TrainingTexts, TrainingVectors
from phasefit.models.predictor import TASK, Predictor
from phasefit.serve.explaining import predictions_of
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models
from phasefit.serve.service import Service
from served import TEXTS, FakeModel, client_of, made_model, made_service, post


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
    service.batcher._held_tokens = 20
    assert post(service, "/explain", {"inputs": TEXTS[0]}).status_code == 429
    assert post(service, "/predict", {"inputs": TEXTS[0]}).status_code == 200


def test_the_charge_of_an_explanation_follows_its_words() -> None:
    assert predictions_of("a b c") - predictions_of("a") == 2
    assert predictions_of(("a b", "c")) == predictions_of("a b c")
    assert predictions_of("語" * 20) == predictions_of("a " * 20)  # each character counts as a word
    assert predictions_of("a " * 1000) == predictions_of("a " * 500)


class OneByOne:
    """Lets the worker compute one batch at a time."""

    def __init__(self) -> None:
        self.started, self.allowed = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, texts: list[str]) -> None:
        self.started.release()
        assert self.allowed.acquire(timeout=10)

    async def next(self) -> None:
        self.allowed.release()
        assert await asyncio.to_thread(self.started.acquire, timeout=10)


def test_a_prediction_is_answered_while_an_explanation_is_computed() -> None:
    steps = OneByOne()
    model = FakeModel(steps)
    text = "one two three four five six seven eight nine ten"  # 14 tokens, so 4 of its variants per batch
    service = made_service({"fake": model}, Limits(batch_tokens=64))

    async def run() -> None:
        async with client_of(service) as client:
            explanation = asyncio.create_task(client.post("/explain", json={"inputs": text}))
            assert await asyncio.to_thread(steps.started.acquire, timeout=10)
            prediction = asyncio.create_task(client.post("/predict", json={"inputs": "abc"}))
            while service.batcher._held_texts < 2:
                await asyncio.sleep(0.001)
            await steps.next()  # the prediction follows the first batch of the explanation
            assert model.seen[-1] == ["abc"]
            await steps.next()
            assert (await prediction).status_code == 200
            assert not explanation.done()
            for _ in range(100):
                steps.allowed.release()
            answer = await explanation
            assert answer.status_code == 200
            assert len(answer.json()["explanations"][0]["words"]) == 10
        assert max(map(len, model.seen)) <= 4
        assert service.batcher.is_idle

    asyncio.run(run())


def test_an_explanation_without_an_answer_in_time_is_given_up() -> None:
    steps = OneByOne()
    model = FakeModel(steps)
    reports: list[str] = []
    service = made_service({"fake": model}, Limits(batch_tokens=64, timeout=0.1), report=reports.append)

    async def run() -> None:
        async with client_of(service) as client:
            answer = await client.post("/explain", json={"inputs": "one two three four five six"})
            assert answer.status_code == 504
            for _ in range(100):
                steps.allowed.release()
            while not service.batcher.is_idle:
                await asyncio.sleep(0.001)

    asyncio.run(run())
    assert [len(texts) for texts in model.seen] == [1, 1]  # when it was loaded, and the first batch
    assert reports == []
