"""Texts that a VAE generates near the rows of small classes, used instead of copies of those rows."""

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

CHUNK = 64  # texts generated at once
PER_CLASS = 32  # rows used to compute the centre of a class


class GeneratedCopies(nn.Module):
    """One text for each of `rows`, generated before the first step; those that left their class are not used.

    The texts are buffers: when a run is resumed, the encoder that they were generated with no longer exists.
    """

    ids: Tensor
    lengths: Tensor  # 0 for a text that is not used

    def __init__(self, name: str, generator: Generator | None, data: PhaseData, rows: np.ndarray, seed: int) -> None:
        super().__init__()
        if generator is None:
            raise RecipeError(f"{name}: balance.generate needs a denoise phase with variant = 'vae' before it")
        self._generator = (generator,)  # a tuple, so that its weights are not registered and trained here
        self._data, self._rows, self._seed = data, rows, derive(seed, name, "generated")
        width = int(data.tokens.lengths[rows].max(initial=1))
        self.register_buffer("ids", torch.zeros(len(rows), width, dtype=torch.long))
        self.register_buffer("lengths", torch.zeros(len(rows), dtype=torch.long))

    @property
    def share(self) -> Tensor:
        """Share of the texts that are used."""
        return (self.lengths > 0).float().sum() / max(len(self.lengths), 1)

    def used(self, copies: np.ndarray) -> np.ndarray:
        """Mask of the copies whose text is used."""
        return np.asarray(self.lengths.cpu().numpy()[copies] > 0)

    def features(self, copies: np.ndarray) -> Features:
        """Token features of these copies."""
        lengths = self.lengths.cpu().numpy()[copies]
        real = np.arange(lengths.max(initial=1)) < lengths[:, None]
        ids = self.ids.cpu().numpy()[copies][:, : real.shape[1]]
        return features(np.where(real, ids, self._data.tokens.pad), real)

    def before_step(self, step: int, encoder: Encoder) -> None:
        """Generate the texts before the first step."""
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
        # Double precision, so that ties between tokens do not depend on rounding.
        exact = copy.deepcopy(generator).to(vectors.device).double().eval()
        with seeded(derive(self._seed, int(copies[0])), vectors.device):
            drawn = exact.draw(vectors.double())
        self.ids[copies], self.lengths[copies] = exact.decoder.generate(drawn, begin, end, self.ids.shape[1])

    def _centres(self, encoder: Encoder) -> tuple[np.ndarray, Tensor]:
        """Classes and their mean vectors, from some of their training rows."""
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
