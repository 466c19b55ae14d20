"""Early stopping: which step was best so far, and its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from phasefit.phases.contract import Phase


class Best:
    """Keeps a copy of the trained weights that are best so far by the watched score.

    Weights that come later and are worse by less than the phase's `slack` are kept too: on few validation rows the
    highest score of many is mostly luck, and a later evaluation has the lower learning rate behind it.
    """

    def __init__(self, phase: Phase) -> None:
        self._phase = phase
        self._better = -1.0 if phase.lower_is_better else 1.0
        self.weights: dict[str, Tensor] = {}
        self._peak: float | None = None
        self.step = 0
        self.scores: dict[str, float] = {}
        self.misses = 0  # evaluations since the score last rose

    def see(self, step: int, scores: dict[str, float]) -> bool:
        """Take note of an evaluation; True if its weights are the ones to keep."""
        if self._phase.watch not in scores:
            return False
        score = scores[self._phase.watch]
        if math.isnan(score):  # nothing could ever beat it
            self.misses += 1
            return False
        gain = math.inf if self._peak is None else self._better * (score - self._peak)
        if gain > 0:
            self._peak, self.misses = score, 0
        else:
            self.misses += 1
            slack = self._phase.slack(scores)
            if not slack or not gain >= -slack:  # without slack the earliest wins a tie
                return False
        self.step, self.scores = step, dict(scores)
        self.weights = {
            name: value.detach().to("cpu", copy=True)
            for name, value in self._phase.named_parameters()
            if value.requires_grad
        }
        return True

    def restore(self) -> bool:
        """Put the best weights back; False where nothing was ever scored."""
        if self._peak is None:
            return False
        with torch.no_grad():
            for name, value in self._phase.named_parameters():
                if name in self.weights:
                    value.copy_(self.weights[name])
        return True

    def facts(self) -> dict[str, Any]:
        """What there is besides the weights, ready for JSON."""
        return {"peak": self._peak, "step": self.step, "scores": self.scores, "misses": self.misses}

    def load(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Know again what `weights` and `facts` told."""
        self.weights = dict(weights)
        self._peak, self.step, self.misses = facts["peak"], facts["step"], facts["misses"]
        self.scores = dict(facts["scores"])
