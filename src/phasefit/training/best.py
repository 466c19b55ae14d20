"""Early stopping: which step was best so far, and its weights."""

from __future__ import annotations

import torch
from torch import Tensor

from phasefit.phases.contract import Phase


class Best:
    """Keeps a copy of the trained weights whenever the watched score improves."""

    def __init__(self, phase: Phase) -> None:
        self._phase = phase
        self._better = -1.0 if phase.lower_is_better else 1.0
        self._weights: dict[str, Tensor] | None = None
        self.step = 0
        self.scores: dict[str, float] = {}
        self.misses = 0  # looks since the last improvement

    def see(self, step: int, scores: dict[str, float]) -> bool:
        """Take note of a look at the scores; True if this is the best yet. The earliest wins a tie."""
        if self._phase.watch not in scores:
            return False
        if self._weights is not None:
            gain = self._better * (scores[self._phase.watch] - self.scores[self._phase.watch])
            if not gain > 0:
                self.misses += 1
                return False
        self.step, self.scores, self.misses = step, dict(scores), 0
        self._weights = {
            name: value.detach().to("cpu", copy=True)
            for name, value in self._phase.named_parameters()
            if value.requires_grad
        }
        return True

    def restore(self) -> bool:
        """Put the best weights back; False where nothing was ever scored."""
        if self._weights is None:
            return False
        with torch.no_grad():
            for name, value in self._phase.named_parameters():
                if name in self._weights:
                    value.copy_(self._weights[name])
        return True
