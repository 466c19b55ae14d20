"""Models for the tests of explanations: a linear bag of words without torch, and tiny encoders with random heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import torch

from phasefit.data.labels import LabelSpace, label_space
from phasefit.kinds.decision import Decision
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.heads import Head, PairKind
from phasefit.models.model import Model
from phasefit.models.predictor import Predictor, Progress

WEIGHTS = {"good": 2.0, "bad": -1.5, "very": 0.25, "film": 0.0}


class BagOfWords(Predictor):
    """The logit, or the score, is the sum of the weights of its words; words on the second side count double."""

    def __init__(
        self, labels: Sequence[Any] = ("no", "yes"), *, weights: Mapping[str, float] = WEIGHTS, pair: bool = False
    ) -> None:
        self.weights = weights
        self.heads = {"default": SimpleNamespace(pair="uv" if pair else None)}
        self.spaces: dict[str, LabelSpace] = {"default": label_space(list(labels))}
        self.decisions: dict[str, Decision] = {}

    def head(self, task: str = "default") -> Any:
        return self.heads[self.known_task(task)]

    def total(self, text: Any) -> float:
        if isinstance(text, str):
            return sum(self.weights.get(word, 0.0) for word in text.split())
        return self.total(text[0]) + 2 * self.total(text[1])

    def predict_outputs(
        self, texts: Sequence[Any], *, task: str = "default", batch_size: int = 64, progress: Progress | None = None
    ) -> np.ndarray:
        totals = np.array([self.total(text) for text in texts])
        kind = self.space.kind
        if kind == "score":
            return totals[:, None]
        likely = 1 / (1 + np.exp(-totals))
        return np.stack([1 - likely, likely], axis=1) if kind != "multi" else np.stack([likely, likely], axis=1)

    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> np.ndarray:
        return np.array([[float(word in text.split()) for word in self.weights] for text in texts]).reshape(
            len(texts), len(self.weights)
        )

    def facts(self) -> dict[str, Any]:
        return {}

    def write(self, folder: Path) -> dict[str, Any]:
        return {}


KINDS: dict[str, list[Any]] = {
    "single": ["food", "music", "weather"],
    "tree": [("a", "food"), ("a", "music"), ("b", "weather")],
    "multi": [frozenset({"food"}), frozenset({"music", "weather"})],
    "score": [0.5, 2.5, 7.0],
}


def encoder_model(folder: Path, kind: str = "single", *, pair: PairKind | None = None, task: str = "default") -> Model:
    """A tiny encoder with a random head, lively enough that words matter."""
    model = Model(load_encoder(str(folder)))
    add_task(model, task, kind, pair)
    model.eval()
    return model


def add_task(model: Model, task: str, kind: str, pair: PairKind | None = None) -> None:
    space = label_space(KINDS[kind])
    outputs = 1 if kind == "score" else len(space)
    head = Head("mlp", model.encoder.dimension, outputs, dropout=0.1, pair=pair)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.mul_(3) if pair != "cosine" else parameter.fill_(0.1)
    model.heads[task] = head
    model.spaces[task] = space
    if kind == "multi":
        model.decisions[task] = Decision(1.5, thresholds=(0.5,) * outputs)
    elif kind != "score":
        model.decisions[task] = Decision(1.5)


class AnyKind(Predictor):
    """Outputs that depend on the text alone, for the tasks of a run that was built without training."""

    def __init__(self, prepared: Any) -> None:
        tasks = prepared.tasks or {"default": prepared}
        self.heads = {name: SimpleNamespace(pair="uv" if task.train.others else None) for name, task in tasks.items()}
        self.spaces = {name: task.space for name, task in tasks.items()}
        self.decisions: dict[str, Decision] = {}

    def head(self, task: str = "default") -> Any:
        return self.heads[self.known_task(task)]

    def predict_outputs(
        self, texts: Sequence[Any], *, task: str = "default", batch_size: int = 64, progress: Progress | None = None
    ) -> np.ndarray:
        space = self.space_of(task)
        width = 1 if space.kind == "score" else len(space)
        outputs = [np.random.default_rng(crc32(str(text).encode())).random(width) for text in texts]
        outputs = [row / row.sum() if width > 1 else row for row in outputs]
        return np.array(outputs).reshape(len(texts), width)

    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> np.ndarray:
        return np.ones((len(texts), 2))

    def facts(self) -> dict[str, Any]:
        return {}

    def write(self, folder: Path) -> dict[str, Any]:
        return {}
