"""Engines: tokenise texts and compute outputs or embeddings for some of them, for any Predictor.

The worker tokenises waiting texts together and then computes them in batches. A Model permits this. Any other
predictor tokenises while it computes: its seconds of tokenising count as computing, and its token counts are estimates
unless it can count them.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.errors import TextsCut
from phasefit.models.predictor import Predictor
from phasefit.serve.limits import charge

if TYPE_CHECKING:
    from phasefit.models.exported import ExportedModel
    from phasefit.models.model import Model

NO_LIMIT = 1_000_000  # tokens, of models that read texts of any length
Texts = Sequence[str] | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Prepared:
    """Texts that are ready to be computed."""

    tokens: np.ndarray  # per text
    cut: np.ndarray | None  # which texts are too long for the model; None if that is unknown
    compute: Callable[[np.ndarray], np.ndarray]  # from positions to rows of outputs or embeddings


class Engine(ABC):
    """Runs one predictor."""

    counts_tokens = False  # whether token counts are exact and tokenising is timed
    longest = NO_LIMIT  # the most tokens of one text

    @abstractmethod
    def prepare(self, texts: Texts, task: str | None) -> Prepared:
        """Tokenise texts for the head of a task, or for embeddings if `task` is None."""


class ModelEngine(Engine):
    """Runs a Model: encoder and heads in torch."""

    counts_tokens = True

    def __init__(self, model: Model) -> None:
        self._model = model
        self.longest = model.encoder.reach

    def prepare(self, texts: Texts, task: str | None) -> Prepared:
        """The tokens of the texts."""
        model = self._model
        rows = model.rows(texts, task)

        def compute(places: np.ndarray) -> np.ndarray:
            vectors = rows.encode(model.encoder, places)
            return model.embeddings(vectors) if task is None else model.outputs(vectors, task)

        cut = np.asarray(rows.tokens.lost[rows.index].any(axis=1))
        return Prepared(rows.lengths(np.arange(len(texts))), cut, compute)


class PredictorEngine(Engine):
    """Runs any other predictor through its public methods."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        stated = predictor.facts().get("max_length")
        self.longest = stated if isinstance(stated, int) and stated > 0 else NO_LIMIT

    def prepare(self, texts: Texts, task: str | None) -> Prepared:
        """Estimated token counts."""

        def compute(places: np.ndarray) -> np.ndarray:
            chosen: Any = [texts[place] for place in places.tolist()]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TextsCut)
                if task is None:
                    return self._predictor.embed(chosen)
                return self._predictor.predict_outputs(chosen, task=task)

        tokens = np.array([charge(text, self.longest) for text in texts], dtype=np.int64)
        return Prepared(tokens, None, compute)


class ExportedEngine(PredictorEngine):
    """Runs an exported folder, which counts the tokens of a task exactly."""

    def __init__(self, predictor: ExportedModel) -> None:
        super().__init__(predictor)
        self._runtime = predictor.runtime
        self.longest = predictor.runtime.manifest.tokens.reach

    def prepare(self, texts: Texts, task: str | None) -> Prepared:
        """Exact token counts for a task, estimated ones for embeddings."""
        estimated = super().prepare(texts, task)
        if task is None:
            return estimated
        return replace(estimated, tokens=np.array(self._runtime.token_counts(texts, task), dtype=np.int64))


def engine_of(predictor: Predictor) -> Engine:
    """The engine that fits a predictor; imports no torch if the predictor does not need it."""
    model = sys.modules.get("phasefit.models.model")
    if model is not None and isinstance(predictor, model.Model):
        return ModelEngine(predictor)
    exported = sys.modules.get("phasefit.models.exported")
    if exported is not None and isinstance(predictor, exported.ExportedModel):
        return ExportedEngine(predictor)
    return PredictorEngine(predictor)
