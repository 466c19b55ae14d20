"""From probabilities to predictions: the temperature that calibrates them and the thresholds that they must reach.

Both are chosen on validation rows after training, so phases and heads do not depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from pydantic import Field

from phasefit.files.checked import Document, Number, checked

ABSTAINED = -1  # the code of a withheld prediction
COLDEST, HOTTEST = 1e-6, 1e6  # temperatures; beyond them, probabilities are not finite
_TINY = np.finfo(np.float64).tiny


class SavedDecision(Document):
    """A decision in a manifest."""

    temperature: Number = 1.0
    reject_below: Number = 0.0
    thresholds: list[Number] = Field(default_factory=list)


@dataclass(frozen=True)
class Decision:
    """How a head's probabilities become predictions."""

    temperature: float = 1.0  # logits are divided by it: above 1 if the head is overconfident
    reject_below: float = 0.0  # less probable predictions are withheld; 0: every text gets one
    thresholds: tuple[float, ...] = ()  # with several labels per text: the least probability of each

    def __post_init__(self) -> None:
        """Reject the values of a damaged file."""
        thresholds = (self.reject_below, *self.thresholds)
        if not (COLDEST <= self.temperature <= HOTTEST and all(0 <= one <= 1 for one in thresholds)):
            raise ValueError(
                "the temperature must be greater than 0 and thresholds must be between 0 and 1 (found temperature "
                f"{self.temperature}, thresholds {min(thresholds)} to {max(thresholds)})"
            )

    def check_thresholds(self, classes: int) -> None:
        """Raise ValueError if there are thresholds, but not one for each class."""
        if self.thresholds and len(self.thresholds) != classes:
            raise ValueError(f"{len(self.thresholds)} thresholds for {classes} classes")

    def calibrated(self, probabilities: np.ndarray) -> np.ndarray:
        """Calibrate the head's own probabilities (n, classes)."""
        return self._tempered(probabilities, self.temperature)

    def uncalibrated(self, probabilities: np.ndarray) -> np.ndarray:
        """Recover the head's own probabilities from calibrated ones."""
        return self._tempered(probabilities, 1 / self.temperature)

    def _tempered(self, probabilities: np.ndarray, temperature: float) -> np.ndarray:
        """Scale by a temperature; with thresholds, each label is a binary decision."""
        if not self.thresholds or temperature == 1:
            return tempered(probabilities, temperature)
        clipped = np.clip(probabilities.astype(np.float64), _TINY, 1 - np.finfo(np.float64).epsneg)
        logits = np.clip((np.log(clipped) - np.log1p(-clipped)) / temperature, -700, 700)
        return np.asarray(1 / (1 + np.exp(-logits)))

    def chosen(self, probabilities: np.ndarray) -> np.ndarray:
        """Which labels each row gets, (n, classes) bool."""
        return np.asarray(probabilities >= (np.asarray(self.thresholds) if self.thresholds else 0.5))

    def answers(self, probabilities: np.ndarray) -> np.ndarray:
        """The code of each row's most probable class, or ABSTAINED."""
        accepted = probabilities.max(axis=1) >= self.reject_below
        return np.where(accepted, probabilities.argmax(axis=1), ABSTAINED)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers for the manifest."""
        fields = asdict(self)
        thresholds = list(fields.pop("thresholds"))
        return fields | ({"thresholds": thresholds} if thresholds else {})

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Decision:
        """Read the output of `to_json`; ValueError if it is damaged."""
        saved: SavedDecision = checked(SavedDecision, content)
        return cls(saved.temperature, saved.reject_below, tuple(saved.thresholds))


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Softmax of the logits divided by a temperature; log-probabilities serve as logits."""
    if temperature == 1:
        return probabilities
    logits = np.log(np.maximum(probabilities.astype(np.float64), _TINY)) / temperature
    scaled = np.where(probabilities > 0, np.exp(logits - logits.max(axis=1, keepdims=True)), 0.0)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))
