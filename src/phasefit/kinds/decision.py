"""From probabilities to answers: how sure a head may sound, and how sure it must be to answer at all.

Both are chosen on validation rows after training, so that neither the phases nor the head know of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

ABSTAINED = -1  # the code of an answer that is withheld
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Decision:
    """What stands between a head's softmax and what a user is told."""

    temperature: float = 1.0  # logits are divided by it: above 1 for a head that is too sure
    reject_below: float = 0.0  # answers less probable than this are withheld; 0: every text gets one
    thresholds: tuple[float, ...] = ()  # of several labels per text: how probable each must be to be given

    def __post_init__(self) -> None:
        """Refuse what a damaged file may say."""
        inside = all(0 <= value <= 1 for value in (self.reject_below, *self.thresholds))
        if not (math.isfinite(self.temperature) and self.temperature > 0 and inside):
            raise ValueError(f"no model decides with temperature {self.temperature} and threshold {self.reject_below}")

    def calibrated(self, probabilities: np.ndarray) -> np.ndarray:
        """What the head's own probabilities (n, classes) become."""
        return self._tempered(probabilities, self.temperature)

    def uncalibrated(self, probabilities: np.ndarray) -> np.ndarray:
        """The head's own probabilities again."""
        return self._tempered(probabilities, 1 / self.temperature)

    def _tempered(self, probabilities: np.ndarray, temperature: float) -> np.ndarray:
        """With thresholds, each label is a question of its own, with two answers."""
        if not self.thresholds or temperature == 1:
            return tempered(probabilities, temperature)
        sure = np.clip(probabilities.astype(np.float64), _TINY, 1 - np.finfo(np.float64).epsneg)
        logits = np.clip((np.log(sure) - np.log1p(-sure)) / temperature, -700, 700)
        return np.asarray(1 / (1 + np.exp(-logits)))

    def chosen(self, probabilities: np.ndarray) -> np.ndarray:
        """Which of several labels each row gets, (n, classes) bool."""
        return np.asarray(probabilities >= (np.asarray(self.thresholds) if self.thresholds else 0.5))

    def answers(self, probabilities: np.ndarray) -> np.ndarray:
        """The code of each row's most probable class, or ABSTAINED."""
        sure = probabilities.max(axis=1) >= self.reject_below
        return np.where(sure, probabilities.argmax(axis=1), ABSTAINED)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers for the manifest."""
        known = asdict(self)
        thresholds = list(known.pop("thresholds"))
        return known | ({"thresholds": thresholds} if thresholds else {})

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Decision:
        """What `to_json` gave."""
        thresholds = tuple(float(value) for value in content.get("thresholds", ()))
        plain = {name: float(value) for name, value in content.items() if name != "thresholds"}
        return cls(**plain, thresholds=thresholds)


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """The softmax of the same logits over a temperature; logarithms of probabilities are logits as good as any."""
    if temperature == 1:
        return probabilities
    logits = np.log(np.maximum(probabilities.astype(np.float64), _TINY)) / temperature
    raised = np.where(probabilities > 0, np.exp(logits - logits.max(axis=1, keepdims=True)), 0.0)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
