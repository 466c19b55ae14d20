"""The training texts nearest to a text, by the cosine of their embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.explain.exported_texts import exported_texts
from phasefit.explain.results import Neighbour
from phasefit.explain.rows import cut_quietly
from phasefit.explain.training_texts import TrainingTexts, training_texts
from phasefit.models.exported import ExportedModel
from phasefit.models.predictor import TASK, Predictor, Progress

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.prepare.prepare import Prepared
    from phasefit.runs.run import Run

BLOCK = 256  # texts whose similarities to all training texts are in memory at once


class TrainingVectors:
    """Training texts with their embeddings, computed once, to look up the nearest ones of many texts."""

    def __init__(
        self,
        model: Predictor,
        training: TrainingTexts,
        *,
        vectors: np.ndarray | None = None,
        batch_size: int = 64,
        progress: Progress | None = None,
    ) -> None:
        self._model, self._training, self._batch_size = model, training, batch_size
        computed = _embed(model, training.texts, batch_size, progress) if vectors is None else _normalized(vectors)
        self._vectors = computed

    @classmethod
    def of(
        cls,
        model: Predictor,
        source: Run | Prepared,
        task: str | None = None,
        *,
        batch_size: int = 64,
        listen: Listener | None = None,
        counting: Callable[[int], AbstractContextManager[Progress | None]] = lambda _: nullcontext(),
    ) -> TrainingVectors:
        """The training texts of a run or of prepared tables; an exported folder contains them with their embeddings.

        Raises a PhasefitError with one sentence if they are gone or have changed. `counting` is given the number of
        texts that will be embedded, and shows the progress.
        """
        if isinstance(model, ExportedModel):
            training, vectors = exported_texts(model, model.known_task(TASK if task is None else task))
            return cls(model, training, vectors=vectors, batch_size=batch_size)
        from phasefit.prepare.prepare import Prepared

        if not isinstance(source, Prepared):
            source.check_encoder()
        training = training_texts(source, task, listen=listen)
        with counting(len(training.texts)) as progress:
            return cls(model, training, batch_size=batch_size, progress=progress)

    @property
    def training(self) -> TrainingTexts:
        """The texts."""
        return self._training

    def nearest(self, texts: Sequence[Any], count: int = 3) -> list[tuple[Neighbour, ...]]:
        """The nearest training texts of each text or pair, the nearest first; ties in the order of the table."""
        if not len(texts) or not len(self._vectors):
            return [() for _ in texts]
        vectors = _embed(self._model, texts, self._batch_size)
        found: list[tuple[Neighbour, ...]] = []
        for start in range(0, len(vectors), BLOCK):
            similarities = vectors[start : start + BLOCK] @ self._vectors.T
            for row in similarities:
                order = np.argsort(-row, kind="stable")[:count]
                found.append(tuple(self._neighbour(int(place), float(row[place])) for place in order))
        return found

    def _neighbour(self, place: int, similarity: float) -> Neighbour:
        return Neighbour(self._training.texts[place], self._training.labels[place], min(similarity, 1.0))


def nearest(
    model: Predictor,
    texts: Sequence[str] | Sequence[tuple[str, str]],
    training: TrainingTexts,
    *,
    count: int = 3,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> list[tuple[Neighbour, ...]]:
    """The nearest training texts of each text or pair; `progress` counts embedded training texts."""
    return TrainingVectors(model, training, batch_size=batch_size, progress=progress).nearest(texts, count)


def _embed(model: Predictor, texts: Sequence[Any], batch_size: int, progress: Progress | None = None) -> np.ndarray:
    """Vectors (n, d) of length 1; those of a pair are the vectors of both texts next to each other."""
    sides: list[list[str]]
    if len(texts) and not isinstance(texts[0], str):
        sides = [[text[side] for text in texts] for side in (0, 1)]
    else:
        sides = [list(texts)]
    with cut_quietly():
        parts = [model.embed(side, batch_size=batch_size, progress=progress) for side in sides]
    vectors = np.concatenate([_normalized(part) for part in parts], axis=1)
    return _normalized(vectors)


def _normalized(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))
