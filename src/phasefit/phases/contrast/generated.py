"""Copies of rows of small classes as new texts, which a VAE makes out of the neighbourhood of those rows."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from phasefit.errors import RecipeError
from phasefit.models.decoders.vae import Generator
from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.encoder.inference import encode_rows, evaluating
from phasefit.models.seeded import seeded
from phasefit.models.tokens.tokens import Features, features
from phasefit.phases.contract import PhaseData
from phasefit.seeds import derive

CHUNK = 64  # texts that are made at the same time
PER_CLASS = 32  # rows that tell where a class is


class GeneratedCopies(nn.Module):
    """A text for each of `rows`, made ahead of the first step; only those that still are of their class are used.

    They are buffers, because a run that is resumed later no longer has the encoder that they were made with.
    """

    ids: Tensor
    lengths: Tensor  # 0 for a text that is not used

    def __init__(self, name: str, generator: Generator | None, data: PhaseData, rows: np.ndarray, seed: int) -> None:
        super().__init__()
        if generator is None:
            raise RecipeError(f"{name}: balance.generate needs denoise with variant = 'vae' before it, to make texts")
        self._generator = (generator,)  # in a tuple: its weights are the model's, and are not trained here
        self._data, self._rows, self._seed = data, rows, derive(seed, name, "generated")
        width = int(data.tokens.lengths[rows].max(initial=1))
        self.register_buffer("ids", torch.zeros(len(rows), width, dtype=torch.long))
        self.register_buffer("lengths", torch.zeros(len(rows), dtype=torch.long))

    @property
    def share(self) -> Tensor:
        """How many of the texts are used, from 0 to 1."""
        return (self.lengths > 0).float().sum() / max(len(self.lengths), 1)

    def used(self, copies: np.ndarray) -> np.ndarray:
        """Which of these copies have a text that is used."""
        return np.asarray(self.lengths.cpu().numpy()[copies] > 0)

    def features(self, copies: np.ndarray) -> Features:
        """The texts of these copies."""
        lengths = self.lengths.cpu().numpy()[copies]
        real = np.arange(lengths.max(initial=1)) < lengths[:, None]
        ids = self.ids.cpu().numpy()[copies][:, : real.shape[1]]
        return features(np.where(real, ids, self._data.tokens.pad), real)

    def before_step(self, step: int, encoder: Encoder) -> None:
        """Make the texts ahead of the first step."""
        if step != 1 or not len(self._rows):
            return
        classes, centres = self._centres(encoder)
        with evaluating(encoder), torch.no_grad():
            for start in range(0, len(self._rows), CHUNK):
                copies = np.arange(start, min(start + CHUNK, len(self._rows)))
                self._make(copies, encoder)
                vectors = sentence_vectors(encoder(_put(self.features(copies), centres.device)))
                nearest = classes[(normalize(vectors.float(), dim=1) @ centres.T).argmax(dim=1).cpu().numpy()]
                self.lengths[copies] *= torch.from_numpy(nearest == self._codes(copies)).to(self.lengths.device)

    def _make(self, copies: np.ndarray, encoder: Encoder) -> None:
        rows, (generator,) = self._rows[copies], self._generator
        vectors = encode_rows(encoder, self._data.tokens, rows)
        starts = self._data.tokens.starts
        ends = [self._data.tokens.ids[place] for place in (starts[rows], starts[rows + 1] - 1)]
        begin, end = (torch.from_numpy(ids).long().to(vectors.device) for ids in ends)
        # In double precision: whether two tokens are equally likely must not hang on the last bit of a sum.
        exact = copy.deepcopy(generator).to(vectors.device).double().eval()
        with seeded(derive(self._seed, int(copies[0])), vectors.device):
            drawn = exact.draw(vectors.double())
        self.ids[copies], self.lengths[copies] = exact.decoder.generate(drawn, begin, end, self.ids.shape[1])

    def _centres(self, encoder: Encoder) -> tuple[np.ndarray, Tensor]:
        """The middle of each class, from some of its training rows."""
        train = self._data.train
        classes, codes = np.unique(self._data.codes[train], return_inverse=True)
        some = [train[codes == code][:PER_CLASS] for code in range(len(classes))]
        vectors = normalize(encode_rows(encoder, self._data.tokens, np.concatenate(some)), dim=1)
        means = [part.mean(dim=0) for part in vectors.split([len(rows) for rows in some])]
        return classes, normalize(torch.stack(means), dim=1)

    def _codes(self, copies: np.ndarray) -> np.ndarray:
        return np.asarray(self._data.codes[self._rows[copies]])


def _put(batch: Features, device: torch.device) -> Features:
    return {name: value.to(device) for name, value in batch.items()}
