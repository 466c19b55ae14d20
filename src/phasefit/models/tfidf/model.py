"""A linear model of words and bigrams that predicts like any other model, but has no encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.errors import DataError, ModelError
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.models.predictor import TASK, Predictor, Progress
from phasefit.models.tfidf.features import row_features

KIND = "tfidf"  # of its head in a manifest
PAIR = "uv_diff_prod"  # how pairs are read: both texts, their difference and product
CHUNK = 1024  # texts at a time


@dataclass(frozen=True)
class LinearWeights:
    """A linear model: (features, outputs) weights and (outputs,) biases, as float32."""

    weights: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class TfidfHead:
    """Terms with their inverse document frequencies, and the linear model of their weights."""

    terms: tuple[str, ...]
    idf: np.ndarray  # (terms,)
    linear: LinearWeights
    pair: str | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """The column of each term."""
        return {term: place for place, term in enumerate(self.terms)}

    @property
    def classes(self) -> int:
        """The number of outputs."""
        return len(self.linear.bias)

    def config(self) -> dict[str, Any]:
        """Its entry in a manifest."""
        config = {"kind": KIND, "dimension": len(self.terms), "classes": self.classes, "dropout": 0.0}
        return config if self.pair is None else config | {"pair": self.pair}

    def logits(self, sides: Sequence[Sequence[str]]) -> np.ndarray:
        """(n, outputs) for texts, or for both sides of pairs."""
        features = row_features(sides, self.places, self.idf)
        logits: np.ndarray = np.asarray(features @ self.linear.weights.astype(np.float64)) + self.linear.bias
        return logits


class TfidfModel(Predictor):
    """One head on words; commands that need an encoder refuse it."""

    def __init__(self, head: TfidfHead, space: LabelSpace) -> None:
        self.heads: dict[str, TfidfHead] = {TASK: head}
        self.spaces: dict[str, LabelSpace] = {TASK: space}
        self.decisions: dict[str, Decision] = {}

    def head(self, task: str = TASK) -> TfidfHead:
        """The head of its task."""
        return self.heads[self.known_task(task)]

    def predict_outputs(
        self,
        texts: Sequence[str] | Sequence[tuple[str, str]],
        *,
        task: str = TASK,
        batch_size: int = 64,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """Probabilities or scores; `batch_size` has no effect."""
        import torch

        task = self.known_task(task)
        head, space = self.heads[task], self.spaces[task]
        sides = _sides(texts, pairs=head.pair is not None)
        parts = [np.empty((0, head.classes))]
        for start in range(0, len(texts), CHUNK):
            parts.append(head.logits([side[start : start + CHUNK] for side in sides]))
            if progress is not None:
                progress(len(parts[-1]))
        uncalibrated = kind_of(space).outputs(torch.from_numpy(np.concatenate(parts)), space)
        return self.decision(task).calibrated(uncalibrated) if len(texts) else uncalibrated

    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> NoReturn:
        """Raise: there is no encoder."""
        raise ModelError("this is a TF-IDF model, which has no encoder and no embeddings; train with another recipe")

    def facts(self) -> dict[str, Any]:
        """It runs on the CPU; there is no encoder to name."""
        return {"device": "cpu"}

    def write(self, folder: Path) -> dict[str, Any]:
        """Write terms, weights and labels."""
        from phasefit.models.tfidf.storage import write_tfidf

        return write_tfidf(self, folder)


def _sides(texts: Sequence[Any], *, pairs: bool) -> list[list[str]]:
    """The texts, or both sides of pairs; DataError for a row of the wrong form."""
    if isinstance(texts, str):
        raise TypeError("give a list of texts, not one string")
    for row, text in enumerate(texts, start=1):
        is_pair = isinstance(text, tuple | list)
        if is_pair and not pairs:
            raise DataError(f"row {row} is a text pair, but this model expects single texts")
        if pairs and not (is_pair and len(text) == 2):
            raise DataError(f"row {row} is not a pair; this model expects text pairs, given as tuples of two")
        for part in text if is_pair else [text]:
            if not isinstance(part, str):
                raise DataError(f"text {row} is not a string: {part!r}")
    return [[text[side] for text in texts] for side in (0, 1)] if pairs else [list(texts)]
