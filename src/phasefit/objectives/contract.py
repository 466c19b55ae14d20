"""The interface of objectives."""

from __future__ import annotations

import math
import warnings
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn


class NothingToLearn(UserWarning):
    """Warning for a batch that an objective cannot learn from; its loss is 0."""


class Learned(NamedTuple):
    """What is trained in addition to the embeddings and passed in with a batch; most objectives need neither."""

    parameters: nn.Module | None
    class_weights: Tensor | None
    row_weights: Tensor | None = None  # (n,); given only to objectives that support it


class Objective:
    """A scalar loss of one batch; 0 with a zero gradient and a warning, never NaN, if nothing can be learned.

    Subclasses are frozen dataclasses whose fields are the options of a recipe. They hold no weights: learned parameters
    (proxies) are created by `parameters`, owned by the trainer, and passed in with every batch.
    """

    name: ClassVar[str]
    inputs: ClassVar[tuple[str, ...]]
    """What it accepts: "labelled" (by a call), "pairs", "views", "tokens" (by the methods of these names)."""
    graded: ClassVar[bool] = False
    """Whether it supports targets that agree partially: tree paths, several labels."""
    weighs_classes: ClassVar[bool] = False
    """Whether it needs `class_weights` (n, classes), which a second network learns."""
    weighs_rows: ClassVar[bool] = False
    """Whether its methods accept `row_weights` (n,), which multiply the losses of single rows or pairs."""

    def parameters(self, classes: int, dimension: int) -> nn.Module | None:
        """New parameters to learn along with the embeddings, drawn from torch's default generator."""
        return None

    def __call__(
        self,
        embeddings: Tensor,
        targets: Tensor,
        *,
        parameters: nn.Module | None = None,
        class_weights: Tensor | None = None,
        row_weights: Tensor | None = None,
    ) -> Tensor:
        """All texts of a batch with their labels: (n, d) and targets as in `agreement` -> scalar."""
        (embeddings,) = full_precision(embeddings)
        return self.labelled(embeddings, targets, Learned(parameters, class_weights, row_weights))

    def labelled(self, embeddings: Tensor, targets: Tensor, learned: Learned) -> Tensor:
        """Implements a call, in full precision."""
        raise self._cannot("labelled texts")

    def pairs(self, left: Tensor, right: Tensor, target: Tensor, *, row_weights: Tensor | None = None) -> Tensor:
        """Explicit pairs: (n, d), (n, d) and their agreement (n,) -> scalar."""
        raise self._cannot("explicit pairs")

    def views(
        self, anchor: Tensor, positive: Tensor, negative: Tensor | None = None, *, row_weights: Tensor | None = None
    ) -> Tensor:
        """Rows that belong together, (n, d) each, and optionally a hard negative for each -> scalar."""
        raise self._cannot("views")

    def tokens(
        self,
        states: Tensor,
        mask: Tensor,
        targets: Tensor,
        *,
        parameters: nn.Module | None = None,
        row_weights: Tensor | None = None,
    ) -> Tensor:
        """Token states (n, length, d), the mask of real tokens (n, length) and the texts' labels -> scalar."""
        raise self._cannot("token states")

    def _cannot(self, what: str) -> TypeError:
        return TypeError(f"objective '{self.name}' does not support {what}; it supports {', '.join(self.inputs)}")

    def _nothing(self, why: str, *inputs: Tensor) -> Tensor:
        """Zero, with a zero gradient for all inputs, and a warning."""
        warnings.warn(f"objective '{self.name}': {why}; the loss of such a batch is 0", NothingToLearn, stacklevel=3)
        return torch.stack([part.sum() for part in inputs]).sum() * 0.0


def weighted_mean(losses: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of the losses of rows, each multiplied by its weight; the divisor is the number of rows.

    With weights of mean 1 over the table, the expected gradient is that of the weighted table, on any number of
    processes; dividing by the weights of a batch would favour rows that are drawn with light ones.
    """
    return losses.mean() if weights is None else (losses * weights.to(losses.dtype)).mean()


def of_pairs(weights: Tensor | None, first: Tensor, second: Tensor) -> Tensor | None:
    """The weights of pairs: the products of the weights of their rows."""
    return None if weights is None else weights[first] * weights[second]


def of_rows(weights: Tensor | None) -> dict[str, Tensor]:
    """The argument `row_weights`; objectives without support for it need not have it."""
    return {} if weights is None else {"row_weights": weights}


def full_precision(*parts: Tensor) -> tuple[Tensor, ...]:
    """Convert half precision to float32: similarities divided by a temperature, and their exponentials, need it."""
    return tuple(part.float() if part.dtype in (torch.float16, torch.bfloat16) else part for part in parts)


def class_codes(name: str, targets: Tensor) -> Tensor:
    """Targets for objectives that support only classes, not partial agreement."""
    if targets.dim() == 1 and targets.dtype != torch.bool:
        return targets
    if targets.dim() == 2 and targets.shape[1] == 1 and targets.dtype != torch.bool:
        return targets[:, 0]
    raise ValueError(
        f"objective '{name}' needs one class per text; it does not support tree labels or several labels per text"
    )


def must_be_positive(**options: float) -> None:
    """Check temperatures, scales and the like."""
    for name, value in options.items():
        if not 0 < value < math.inf:
            raise ValueError(f"the {name} must be greater than 0")


def must_not_be_negative(**options: float) -> None:
    """Check margins and weights."""
    for name, value in options.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"the {name} must be 0 or greater")


def must_be_share(**options: float) -> None:
    """Check shares."""
    for name, value in options.items():
        if not 0 <= value <= 1:
            raise ValueError(f"the {name} must be between 0 and 1")
