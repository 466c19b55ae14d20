"""What every objective promises."""

from __future__ import annotations

import math
import warnings
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn


class NothingToLearn(UserWarning):
    """A batch that an objective can make nothing of: it counts for zero."""


class Learned(NamedTuple):
    """What is trained beside the embeddings and passed in with a batch; most objectives need neither."""

    parameters: nn.Module | None
    class_weights: Tensor | None


class Objective:
    """A scalar out of one batch; zero (with a gradient of zero) and a warning, never NaN, where nothing can be learned.

    Subclasses are frozen dataclasses whose fields are the options of a recipe. They hold no weights: what an objective
    needs to learn (proxies) is made by `parameters`, owned by whoever trains it, and passed in with every batch.
    """

    name: ClassVar[str]
    inputs: ClassVar[tuple[str, ...]]
    """What it can be fed: "labelled" (by a call), "pairs", "views", "tokens" (the methods of those names)."""
    graded: ClassVar[bool] = False
    """Whether it understands targets that agree in part: tree paths, several labels."""
    weighs_classes: ClassVar[bool] = False
    """Whether it needs `class_weights` (n, classes), which a second network learns."""

    def parameters(self, classes: int, dimension: int) -> nn.Module | None:
        """What has to be learned along with the embeddings, freshly drawn from torch's default generator."""
        return None

    def __call__(
        self,
        embeddings: Tensor,
        targets: Tensor,
        *,
        parameters: nn.Module | None = None,
        class_weights: Tensor | None = None,
    ) -> Tensor:
        """All texts of a batch with their labels: (n, d) and targets as `agreement` takes them -> scalar."""
        (embeddings,) = full_precision(embeddings)
        return self.labelled(embeddings, targets, Learned(parameters, class_weights))

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """What a call comes to, in full precision."""
        raise self._cannot("labelled texts")

    def pairs(self, left: Tensor, right: Tensor, target: Tensor) -> Tensor:
        """Explicit pairs: (n, d), (n, d) and how much they agree (n,) -> scalar."""
        raise self._cannot("explicit pairs")

    def views(self, anchor: Tensor, positive: Tensor, negative: Tensor | None = None) -> Tensor:
        """Rows that belong together, (n, d) each, and perhaps a hard negative of each -> scalar."""
        raise self._cannot("views")

    def tokens(self, states: Tensor, mask: Tensor, targets: Tensor, *, parameters: nn.Module | None = None) -> Tensor:
        """Token states (n, length, d), which of them are real (n, length), the texts' labels -> scalar."""
        raise self._cannot("token states")

    def _cannot(self, what: str) -> TypeError:
        return TypeError(f"objective '{self.name}' takes no {what}; it takes {', '.join(self.inputs)}")

    def _nothing(self, why: str, *inputs: Tensor) -> Tensor:
        """Zero, with a gradient of zero for all inputs, and a warning."""
        warnings.warn(f"objective '{self.name}': {why}; such a batch counts for zero", NothingToLearn, stacklevel=3)
        return torch.stack([part.sum() for part in inputs]).sum() * 0.0


def full_precision(*parts: Tensor) -> tuple[Tensor, ...]:
    """Half precision is lifted: similarities over a temperature, and their exponentials, need more."""
    return tuple(part.float() if part.dtype in (torch.float16, torch.bfloat16) else part for part in parts)


def class_codes(name: str, targets: Tensor) -> Tensor:
    """Targets for objectives that know classes only, not how much two labels agree."""
    if targets.dim() == 1 and targets.dtype != torch.bool:
        return targets
    if targets.dim() == 2 and targets.shape[1] == 1 and targets.dtype != torch.bool:
        return targets[:, 0]
    raise ValueError(
        f"objective '{name}' needs one class per text; it cannot use labels that agree in part (trees, several labels)"
    )


def must_be_positive(**options: float) -> None:
    """Temperatures, scales and the like."""
    for name, value in options.items():
        if not 0 < value < math.inf:
            raise ValueError(f"the {name} must be greater than 0")


def must_not_be_negative(**options: float) -> None:
    """Margins and weights."""
    for name, value in options.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"the {name} must be 0 or greater")


def must_be_share(**options: float) -> None:
    """What counts for so much of a whole."""
    for name, value in options.items():
        if not 0 <= value <= 1:
            raise ValueError(f"the {name} must lie between 0 and 1")
