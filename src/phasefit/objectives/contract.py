"""What every objective promises."""

from __future__ import annotations

from typing import ClassVar, Protocol

from torch import Tensor


class Objective(Protocol):
    """A scalar out of one batch; zero (with a gradient of zero), never NaN, when the batch holds nothing to learn."""

    inputs: ClassVar[tuple[str, ...]]
    """What it can be fed: "labelled" means `__call__`, "pairs" means it also has `pairs`."""

    def __call__(self, embeddings: Tensor, targets: Tensor) -> Tensor:
        """The loss over all pairs of a batch; embeddings are (n, d), targets as `agreement` takes them."""
        ...
