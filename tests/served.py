"""Tiny models of every label kind, services and clients, for the tests of the server."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from phasefit.data.labels import label_space
from phasefit.data.labels.score import ScoreLabels
from phasefit.kinds.decision import Decision
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.heads import Head
from phasefit.models.model import Model
from phasefit.models.predictor import TASK, Predictor
from phasefit.serve.app import make_app
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models
from phasefit.serve.server import Address, make_server
from phasefit.serve.service import Service

TEXTS = ["a song and a concert", "rain today", "pizza for dinner please", "the storm of the singer"]
SPACES: dict[str, Any] = {
    "single": lambda: label_space(["food", "music", "weather"]),
    "multi": lambda: label_space([frozenset({"food"}), frozenset({"music", "weather"})]),
    "tree": lambda: label_space([("a", "x"), ("a", "y"), ("b", "z")]),
    "score": lambda: ScoreLabels.of([1.0, 2.5, 4.0]),
    "levels": lambda: ScoreLabels.of([0.0, 1.0, 2.0], ["low", "middle", "high"]),
    "pairs": lambda: label_space(["no", "yes"]),
    "together": lambda: label_space(["no", "yes"]),
}
PAIRS = {"pairs": "uv_diff_prod", "together": "together"}


def made_model(folder: Path, tasks: Sequence[str] = ("single",), *, reject: float = 0.0, seed: int = 0) -> Model:
    """A model with random heads of these kinds; one kind is a model with one task."""
    model = Model(load_encoder(str(folder)))
    for number, kind in enumerate(tasks):
        name, space = (TASK if len(tasks) == 1 else kind), SPACES[kind]()
        pair: Any = PAIRS.get(kind)
        model.heads[name] = Head("linear", model.encoder.dimension, space.outputs, seed=seed + number, pair=pair)
        model.spaces[name] = space
        if kind == "multi":
            model.decisions[name] = Decision(thresholds=(0.2, 0.5, 0.9))
        elif reject:
            model.decisions[name] = Decision(reject_below=reject)
    return model.eval()


class FakeModel(Predictor):
    """Two classes from the length of a text; `before` runs before every batch, to block or to fail."""

    def __init__(self, before: Callable[[list[str]], None] = lambda texts: None) -> None:
        self.heads: dict[str, Any] = {TASK: None}
        self.spaces = {TASK: label_space(["even", "odd"])}
        self.decisions: dict[str, Decision] = {}
        self.before, self.seen = before, []

    def head(self, task: str = TASK) -> Any:
        return None

    def predict_outputs(self, texts: Any, **_: Any) -> np.ndarray:
        self.seen.append(list(texts))
        self.before(list(texts))
        odd = np.array([len(text) % 2 for text in texts], dtype=float)
        return np.stack([0.9 - 0.8 * odd, 0.1 + 0.8 * odd], axis=1)

    def embed(self, texts: Any, **_: Any) -> np.ndarray:
        self.seen.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    def facts(self) -> dict[str, Any]:
        return {"model": "fake", "max_length": 64}

    def write(self, folder: Path) -> dict[str, Any]:
        raise NotImplementedError


def made_service(models: dict[str, Predictor], limits: Limits | None = None, **options: Any) -> Service:
    """A service of models in memory."""
    limits = limits or Limits()
    paths = {name: Path(name) for name in models}
    return Service(Models(paths, lambda path: models[str(path)], limits), limits, **options)


@asynccontextmanager
async def client_of(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls the application without a network."""
    service.start()
    transport = httpx.ASGITransport(app=make_app(service))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield client
    finally:
        service.stop()


def post(service: Service, path: str, content: Any, **options: Any) -> httpx.Response:
    """One request to a service of its own."""
    import asyncio

    async def send() -> httpx.Response:
        async with client_of(service) as client:
            return await client.post(path, json=content, **options)

    return asyncio.run(send())


@contextmanager
def running(service: Service) -> Iterator[str]:
    """The address of a running server."""
    listener = Address(port=0).bind()
    server = make_server(service)
    service.start()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        service.stop()
        listener.close()
