"""Early stopping: the best step so far and its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from phasefit.phases.contract import Phase


@dataclass
class Candidate:
    """Weights that an evaluation kept; without weights, there is none."""

    step: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """Everything except the weights, as JSON values."""
        return {"step": self.step, "scores": self.scores}


class Best:
    """Keeps a copy of the trained weights with the best watched score so far.

    Later weights replace them if their score is lower by at most the phase's `slack`: on few validation rows the
    highest score is mostly luck, and later weights were trained with a lower learning rate. They do not if their score
    is lower than that of the evaluation before: a steady decline is not noise, however small its steps are.

    If evaluations use a sample of the validation rows, the weights that were replaced last are kept too, so that both
    can be compared on all rows in the end.
    """

    def __init__(self, phase: Phase) -> None:
        self._phase = phase
        self._sign = -1.0 if phase.lower_is_better else 1.0
        self.kept, self.second = Candidate(), Candidate()
        self.contributions: np.ndarray | None = None  # of each validation row to the highest score
        self._peak: float | None = None
        self._previous: float | None = None  # the score of the last evaluation
        self.misses = 0  # evaluations since the score last rose

    def see(self, step: int, scores: dict[str, float], contributions: np.ndarray | None = None) -> bool:
        """Record an evaluation; return True if its weights are kept."""
        if self._phase.watch not in scores:
            return False
        score = scores[self._phase.watch]
        if math.isnan(score):  # as the best score, no later score could exceed it
            self.misses += 1
            return False
        gain = math.inf if self._peak is None else self._sign * (score - self._peak)
        falls = self._previous is not None and self._sign * (score - self._previous) < 0
        self._previous = score
        if gain > 0:
            self._peak, self.contributions, self.misses = score, contributions, 0
        else:
            self.misses += 1
            slack = self._phase.slack(self.contributions, contributions)
            if slack is None or falls or gain < -slack:  # without slack, the earliest of equal scores wins
                return False
        if self._phase.evaluation_cap is not None and self._phase.chooses_on_all_rows:
            self.second = self.kept
        weights = {
            name: value.detach().to("cpu", copy=True)
            for name, value in self._phase.named_parameters()
            if value.requires_grad
        }
        self.kept = Candidate(step, dict(scores), weights)
        return True

    def restore(self) -> bool:
        """Restore the best weights; return False if there was no evaluation."""
        if self._peak is None:
            return False
        with torch.no_grad():
            for name, value in self._phase.named_parameters():
                if name in self.kept.weights:
                    value.copy_(self.kept.weights[name])
        return True

    def swap(self) -> None:
        """Exchange the best weights and those that they replaced, and restore them."""
        self.kept, self.second = self.second, self.kept
        self.restore()

    def facts(self) -> dict[str, Any]:
        """Everything except the weights and contributions, as JSON values."""
        facts = {"peak": self._peak, "previous": self._previous, "misses": self.misses, **self.kept.facts()}
        return facts | ({"second": self.second.facts()} if self.second.weights else {})

    def load(self, facts: Mapping[str, Any], *weights: Mapping[str, Tensor], contributions: Tensor | None) -> None:
        """Restore the state from `facts`, the weights of both candidates and the contributions."""
        self._peak, self._previous, self.misses = facts["peak"], facts["previous"], facts["misses"]
        self.contributions = None if contributions is None else contributions.numpy()
        self.kept, self.second = (
            Candidate(saved.get("step", 0), dict(saved.get("scores", {})), dict(tensors))
            for saved, tensors in zip((facts, facts.get("second") or {}), weights, strict=True)
        )
