"""One draw of rows as a phase sees it, on one process or as the part of one of several processes.

Every process knows the whole draw. It encodes its own rows, and makes random changes as if it had all of them, so that
noise does not depend on the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from phasefit.data.batches import Draw
from phasefit.models.gather import gather
from phasefit.models.tokens.tokens import Features


@dataclass(frozen=True)
class Batch:
    """One draw of rows, the random generator of the step, and the device.

    With several `processes`, `draw` has the rows of this one and `whole` those of all. A process without rows of its
    own gets one row of the others, which `gather` leaves out.
    """

    draw: Draw
    generator: np.random.Generator
    device: torch.device
    whole: Draw = field(default_factory=dict)  # default: `draw`
    rank: int = 0
    processes: int = 1
    begin: int | None = None  # the place of the first own row in `whole`; None: that of an even division

    def __post_init__(self) -> None:
        """With one process, its rows are the whole batch."""
        if not self.whole:
            object.__setattr__(self, "whole", self.draw)

    @classmethod
    def part(
        cls, whole: Draw, generator: np.random.Generator, device: torch.device, rank: int, processes: int
    ) -> Batch:
        """The part of a draw that one of several processes trains: about the same number of rows for each."""
        draw = {key: values[own_place(len(values), rank, processes)] for key, values in whole.items()}
        return cls(draw, generator, device, whole=whole, rank=rank, processes=processes)

    def put(self, features: Features) -> Features:
        """The features on the device of the batch."""
        return {name: value.to(self.device, non_blocking=True) for name, value in features.items()}

    def tensor(self, values: np.ndarray) -> Tensor:
        """The array as a tensor on the device of the batch."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def weights(self, weights: np.ndarray | None, rows: np.ndarray) -> Tensor | None:
        """The weights of the rows, from those of a whole table; None if all rows have the same weight."""
        return None if weights is None else self.tensor(weights[rows])

    # --- several processes --------------------------------------------------------------------------------------------

    @property
    def sizes(self) -> list[int]:
        """The number of rows of each process."""
        rows = len(next(iter(self.whole.values())))
        return [division(rows, rank, self.processes) for rank in range(self.processes)]

    @property
    def place(self) -> slice:
        """The place of the own rows in `whole`."""
        first = next(iter(self.draw))
        if self.begin is not None:
            return slice(self.begin, self.begin + len(self.draw[first]))
        return own_place(len(self.whole[first]), self.rank, self.processes)

    def scale(self, own: float, whole: float) -> float:
        """The factor of a mean over `own` rows, tokens or the like of this process, out of `whole` in the batch.

        With it, the mean over processes is the mean over the whole batch.
        """
        if self.processes == 1 or not whole:
            return 1.0
        return own * self.processes / whole if self.sizes[self.rank] else 0.0

    def gather(self, tensor: Tensor, of: np.ndarray | None = None) -> Tensor:
        """The rows of all processes, with gradient. A row may take several places in the tensor.

        If the tensor has only some rows, `of` marks them in `whole`.
        """
        if self.processes == 1:
            return tensor
        if of is not None:
            sizes = [int(part.sum()) for part in self._parts(of)]
        else:
            each = len(tensor) // len(next(iter(self.draw.values())))
            sizes = [each * size for size in self.sizes]
        return gather(tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor, sizes)

    def _parts(self, values: np.ndarray) -> list[np.ndarray]:
        """Values of the whole batch, divided among the processes."""
        return np.split(values, np.cumsum(self.sizes)[:-1])

    def every(self, key: str = "rows", copies: int = 1) -> np.ndarray:
        """The values of all processes, in the order of `gather` for a tensor of several `copies` of the own rows."""
        return np.concatenate([np.tile(part, copies) for part in self._parts(self.whole[key])])

    def own_features(self, make: Callable[[np.ndarray], Features], key: str = "rows") -> Features:
        """The features of the own rows, taken from those that `make` draws for all rows."""
        features = make(self.whole[key])
        return features if self.processes == 1 else selected(features, self.place)


def division(rows: int, rank: int, processes: int) -> int:
    """The number of rows that a process gets."""
    return (rank + 1) * rows // processes - rank * rows // processes


def own_place(rows: int, rank: int, processes: int) -> slice:
    """The place of the rows that a process gets; the first row if it gets none, because it cannot encode nothing."""
    first = rank * rows // processes
    return slice(first, first + division(rows, rank, processes)) if division(rows, rank, processes) else slice(0, 1)


def selected(features: Features, rows: slice | np.ndarray) -> Features:
    """Some rows of padded features, without the columns that only other rows need."""
    used = features["attention_mask"][rows].any(dim=0).nonzero()
    width = int(used.max()) + 1 if len(used) else 1
    return {name: value[rows][:, :width] for name, value in features.items()}


def merged(parts: Sequence[tuple[np.ndarray, Features]], padding: int) -> Features:
    """Features of several sources as one batch; each source comes with its places in the batch."""
    order = torch.from_numpy(np.argsort(np.concatenate([places for places, _ in parts])))
    width = max(part["input_ids"].shape[1] for _, part in parts)
    joined: Features = {}
    for name, fill in (("input_ids", padding), ("attention_mask", 0)):
        padded = [pad(part[name], (0, width - part[name].shape[1]), value=fill) for _, part in parts]
        joined[name] = torch.cat(padded)[order]
    return joined
