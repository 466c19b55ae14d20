"""A Model: encoder, named heads and their label spaces. It can be saved, loaded, exported and served."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import normalize

from phasefit.data.labels import LabelSpace
from phasefit.errors import DataError, TextsCut
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.models.decoders.vae import Generator
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.inference import evaluating
from phasefit.models.heads import Head, PairKind
from phasefit.models.predictor import TASK as TASK
from phasefit.models.predictor import Predictor, Progress
from phasefit.models.tokens.rows import Rows
from phasefit.models.tokens.tokenising import CachedTokeniser
from phasefit.models.tokens.tokens import Tokens


class Model(nn.Module, Predictor):
    """Encoder, heads and label spaces; heads and spaces have the same task names."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict()
        self.spaces: dict[str, LabelSpace] = {}
        self.decisions: dict[str, Decision] = {}  # of tasks with calibration or thresholds
        self.generator: Generator | None = None  # generates texts after denoising as a VAE; not saved with the model
        self._tokeniser = CachedTokeniser()

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def head(self, task: str = TASK) -> Head:
        """The head of a task."""
        head = self.heads[self.known_task(task)]
        assert isinstance(head, Head)
        return head

    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> np.ndarray:
        """Embeddings (n, d), the same as plain sentence-transformers computes with the saved encoder."""
        if not len(texts):
            return np.empty((0, self.encoder.dimension), dtype=np.float32)
        rows = Rows.single(self._tokens(texts))
        return self.embeddings(
            rows.encode(self.encoder, np.arange(len(texts)), batch_size=batch_size, progress=progress)
        )

    def embeddings(self, vectors: torch.Tensor) -> np.ndarray:
        """The embeddings of sentence vectors: normalised if the encoder ends with Normalize."""
        if self.encoder.normalizes:
            vectors = normalize(vectors, dim=1)
        return np.asarray(vectors.cpu().numpy())

    def predict_outputs(
        self,
        texts: Sequence[str] | Sequence[tuple[str, str]],
        *,
        task: str = TASK,
        batch_size: int = 64,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """A head's outputs for texts or text pairs: (n, classes) probabilities, or (n, 1) scores."""
        task = self.known_task(task)
        if not len(texts):
            none = torch.empty(0, self.head(task).classes)
            return kind_of(self.spaces[task]).outputs(none, self.spaces[task])
        rows = self._rows(texts, self.head(task).pair)
        everything = np.arange(len(rows.index))
        return self.outputs(rows.encode(self.encoder, everything, batch_size=batch_size, progress=progress), task)

    def outputs(self, vectors: torch.Tensor, task: str = TASK) -> np.ndarray:
        """A head's outputs for sentence vectors."""
        task = self.known_task(task)
        head = self.head(task)
        with evaluating(head), torch.inference_mode():
            uncalibrated = kind_of(self.spaces[task]).outputs(head(vectors), self.spaces[task])
        return self.decision(task).calibrated(uncalibrated)

    def vectors(self, texts: Sequence[Any], pair: PairKind | None = None, *, batch_size: int = 64) -> torch.Tensor:
        """The vectors of texts, or of both texts of each pair, as heads read them: without a final Normalize."""
        rows = self._rows(texts, pair)
        return rows.encode(self.encoder, np.arange(len(rows.index)), batch_size=batch_size)

    def rows(self, texts: Sequence[Any], task: str | None = None) -> Rows:
        """The tokens of texts as the head of a task reads them, or as `embed` does; long texts are cut silently."""
        return self._rows(texts, None if task is None else self.head(task).pair, warn=False)

    def facts(self) -> dict[str, Any]:
        """The name of the encoder, its device and its maximum length."""
        return {"model": self.encoder.name, "device": str(self.device), "max_length": self.encoder.max_length}

    def write(self, folder: Path) -> dict[str, Any]:
        """Write encoder, heads and labels."""
        from phasefit.models.storage import write_model

        return write_model(self, folder)

    def _rows(self, texts: Sequence[Any], pair: PairKind | None, warn: bool = True) -> Rows:
        """Texts or pairs as this kind of head reads them; raises a DataError for a wrong row."""
        if isinstance(texts, str):
            raise TypeError("give a list of texts, not one string")
        if pair is None:
            paired = next((row for row, text in enumerate(texts, start=1) if isinstance(text, tuple | list)), None)
            if paired is not None:
                raise DataError(f"row {paired} is a text pair, but this model expects single texts")
            return Rows.single(self._tokens(texts, warn))
        for row, text in enumerate(texts, start=1):
            if not isinstance(text, tuple | list) or len(text) != 2:
                raise DataError(f"row {row} is not a pair; this model expects text pairs, given as tuples of two")
        left, right = ([text[side] for text in texts] for side in (0, 1))
        together = [*left, *right]
        others = np.full(len(together), -1, dtype=np.int64)
        others[: len(left)] = np.arange(len(left), len(together))
        if pair == "together":
            try:
                rows = Rows.together(self.encoder, together, others)
            except TypeError as error:
                raise _odd_text(together, error) from error
            if warn:
                self._warn(rows.cut, len(left), "pairs", self.encoder.max_length)
        else:
            rows = Rows.apart(self._tokens(together, warn), others)
        return Rows(rows.tokens, rows.index[: len(left)])

    def _tokens(self, texts: Sequence[str], warn: bool = True) -> Tokens:
        if isinstance(texts, str):
            raise TypeError("give a list of texts, not one string")
        try:
            tokens = self._tokeniser.of(self.encoder)(texts)
        except TypeError as error:  # from the tokenizer, which does not name the text
            raise _odd_text(texts, error) from error
        if warn:
            self._warn(tokens.cut, len(texts))
        return tokens

    def _warn(self, cut: int, rows: int, what: str = "texts", longest: int = 0) -> None:
        if cut:
            sentence = cut_sentence(cut, rows, longest or self.encoder.reach, what)
            warnings.warn(sentence, TextsCut, stacklevel=4)


def cut_sentence(cut: int, texts: int, longest: int, what: str = "texts") -> str:
    """The warning about texts that are too long."""
    return f"{cut:,} of {texts:,} {what} are longer than {longest} tokens and are cut"


def _odd_text(texts: Sequence[object], error: TypeError) -> Exception:
    """An error that names the text that a tokenizer rejected."""
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            return DataError(f"text {row} is not a string: {text!r}")
        try:
            text.encode()
        except UnicodeEncodeError:
            return DataError(f"text {row} contains a lone surrogate (an incomplete character); remove it")
    return error
