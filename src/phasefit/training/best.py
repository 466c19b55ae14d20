"""Early stopping: the best step so far and its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from phasefit.phases.contract import Phase


class Best:
    """Keeps a copy of the trained weights with the best watched score so far.

    Later weights replace them if their score is lower by at most the phase's `slack`: on few validation rows the
    highest score is mostly luck, and later weights were trained with a lower learning rate.
    """

    def __init__(self, phase: Phase) -> None:
        self._phase = phase
        self._sign = -1.0 if phase.lower_is_better else 1.0
        self.weights: dict[str, Tensor] = {}
        self._peak: float | None = None
        self.step = 0
        self.scores: dict[str, float] = {}
        self.misses = 0  # evaluations since the score last rose

    def see(self, step: int, scores: dict[str, float]) -> bool:
        """Record an evaluation; return True if its weights are kept."""
        if self._phase.watch not in scores:
            return False
        score = scores[self._phase.watch]
        if math.isnan(score):  # as the best score, no later score could exceed it
            self.misses += 1
            return False
        gain = math.inf if self._peak is None else self._sign * (score - self._peak)
        if gain > 0:
            self._peak, self.misses = score, 0
        else:
            self.misses += 1
            slack = self._phase.slack(scores)
            if not slack or not gain >= -slack:  # without slack, the earliest of equal scores wins
                return False
        self.step, self.scores = step, dict(scores)
        self.weights = {
            name: value.detach().to("cpu", copy=True)
            for name, value in self._phase.named_parameters()
            if value.requires_grad
        }
        return True

    def restore(self) -> bool:
        """Restore the best weights; return False if there was no evaluation."""
        if self._peak is None:
            return False
        with torch.no_grad():
            for name, value in self._phase.named_parameters():
                if name in self.weights:
                    value.copy_(self.weights[name])
        return True

    def facts(self) -> dict[str, Any]:
        """Everything except the weights, as JSON values."""
        return {"peak": self._peak, "step": self.step, "scores": self.scores, "misses": self.misses}

    def load(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Restore the state from `weights` and `facts`."""
        self.weights = dict(weights)
        self._peak, self.step, self.misses = facts["peak"], facts["step"], facts["misses"]
        self.scores = dict(facts["scores"])
