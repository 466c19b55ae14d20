"""Hard negatives: the nearest texts of other classes under the current encoder, refreshed every few steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, Draw
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.neighbours import NONE, nearest_others, need_index
from phasefit.phases.contrast.grown import GrownRows
from phasefit.seeds import derive, generator


class HardNegatives(nn.Module):
    """The `count` nearest texts of other classes, for every text. Copies share the neighbours of their row."""

    neighbours: Tensor  # (texts, count): indices of texts; a buffer, so that a resumed run does not search again

    def __init__(self, name: str, grown: GrownRows, count: int, refresh: int, seed: int) -> None:
        super().__init__()
        self._place = grown.clean  # place of each text
        origins = grown.origins
        order = np.argsort(origins[self._place])
        self._text = order[np.searchsorted(origins[self._place], origins, sorter=order)]  # text of each place
        need_index(len(self._place), name)
        self._grown, self._refresh, self._seed = grown, refresh, derive(seed, name, "neighbours")
        self.register_buffer("neighbours", torch.full((len(self._place), count), NONE, dtype=torch.int32))

    def before_step(self, step: int, encoder: Encoder) -> None:
        """Search for neighbours before the first step and every `refresh` steps after it."""
        if (step - 1) % self._refresh:
            return
        vectors, codes = self._grown.vectors(encoder, self._place), self._grown.codes[self._place]
        nearest = nearest_others(vectors, codes, self.neighbours.shape[1], seed=self._seed)
        self.neighbours.copy_(torch.from_numpy(nearest))

    def of(self, places: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """One neighbour of each place, selected by `chance` in [0, 1); -1 if there is none."""
        texts = torch.from_numpy(self._text[places]).to(self.neighbours.device)
        near = self.neighbours[texts].cpu().numpy()
        known = (near != NONE).sum(axis=1)  # known neighbours come first
        picked = near[np.arange(len(near)), (chance * known).astype(np.int64)]
        return np.where(known > 0, self._place[picked], NONE)


class WithChance:
    """Batches with a random number per row, so that `encode` and `loss` select the same neighbour."""

    def __init__(self, inner: Batches, seed: int) -> None:
        self._inner, self._seed = inner, seed

    def __len__(self) -> int:
        return len(self._inner)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        random = generator(self._seed, "chance", number)
        for draw in self._inner.epoch(number):
            yield {**draw, "chance": random.random(len(draw["rows"]))}
