"""A Model: encoder, named heads and their label spaces; what is saved, loaded, exported and served."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.functional import normalize

from phasefit.data.labels import LabelSpace
from phasefit.data.table import Label
from phasefit.errors import DataError, ModelError, TextsCut
from phasefit.models.decision import ABSTAINED, Decision
from phasefit.models.encoder import Encoder
from phasefit.models.heads import Head
from phasefit.models.inference import Progress, encode_rows, evaluating
from phasefit.models.ready_tokeniser import ReadyTokeniser
from phasefit.models.vae import Generator

TASK = "default"  # the name of the one head of a model that does one thing


class Model(nn.Module):
    """Encoder, heads and label spaces; heads and spaces go by the same task names."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.heads = nn.ModuleDict()
        self.spaces: dict[str, LabelSpace] = {}
        self.decisions: dict[str, Decision] = {}  # of tasks whose probabilities are not the head's own
        self.generator: Generator | None = None  # makes new texts, after denoising as a VAE; not saved with the model
        self._tokeniser = ReadyTokeniser()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def space(self) -> LabelSpace:
        """The label space of a model with one task."""
        if TASK not in self.spaces:
            raise ModelError("this model has no classifier: it only embeds; train one with a finetune phase")
        return self.spaces[TASK]

    def head(self, task: str = TASK) -> Head:
        """A head by its task's name."""
        if task not in self.heads:
            raise ModelError(f"this model has no head for the task '{task}'; train it with a finetune phase")
        head = self.heads[task]
        assert isinstance(head, Head)
        return head

    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> np.ndarray:
        """Embeddings (n, d): what plain sentence-transformers gives for the saved encoder."""
        vectors = self._vectors(texts, batch_size, progress)
        if self.encoder.normalizes:
            vectors = normalize(vectors, dim=1)
        return np.asarray(vectors.cpu().numpy())

    def predict_proba(
        self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None
    ) -> np.ndarray:
        """Probabilities (n, classes), columns in the order of `space.classes`."""
        return self.probabilities(self._vectors(texts, batch_size, progress))

    def predict(self, texts: Sequence[str], *, batch_size: int = 64) -> list[Label | None]:
        """The most probable label of each text; None where it is not sure enough."""
        if not len(texts):
            return []
        classes = self.space.classes
        codes = self.decision().answers(self.predict_proba(texts, batch_size=batch_size))
        return [None if code == ABSTAINED else classes[code] for code in codes.tolist()]

    def probabilities(self, vectors: torch.Tensor, task: str = TASK) -> np.ndarray:
        """What a head makes of sentence vectors."""
        head = self.head(task)
        with evaluating(head), torch.inference_mode():
            own = np.asarray(head(vectors).cpu().double().softmax(dim=1).numpy())
        return self.decision(task).calibrated(own)

    def decision(self, task: str = TASK) -> Decision:
        """What stands between a head and its answers."""
        return self.decisions.get(task, Decision())

    def _vectors(self, texts: Sequence[str], batch_size: int, progress: Progress | None) -> torch.Tensor:
        if isinstance(texts, str):
            raise TypeError("give a list of texts, not one string")
        try:
            tokens = self._tokeniser.of(self.encoder)(texts)
        except TypeError as error:  # from the tokenizer, which does not say which
            raise _odd_text(texts, error) from error
        if tokens.cut:
            longest = self.encoder.reach
            warnings.warn(cut_sentence(tokens.cut, len(texts), longest), TextsCut, stacklevel=3)
        return encode_rows(self.encoder, tokens, batch_size=batch_size, progress=progress)


def cut_sentence(cut: int, texts: int, longest: int) -> str:
    """What a user is told about texts that do not fit."""
    return f"{cut:,} of {texts:,} texts are longer than {longest} tokens and are cut"


def _odd_text(texts: Sequence[object], error: TypeError) -> Exception:
    """What a tokenizer refused, by its place."""
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            return DataError(f"text {row} is no string: {text!r}")
        try:
            text.encode()
        except UnicodeEncodeError:
            return DataError(f"text {row} holds half a character (a lone surrogate): {text[:40]!r}; take it out")
    return error
