"""From a head's logits to what they mean, and on to answers, by the kind of the labels."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from phasefit.data.labels import LabelSpace, MultiLabels, ScoreLabels
from phasefit.data.table import Label
from phasefit.models.heads.decision import ABSTAINED, Decision


def outputs_of(logits: Tensor, space: LabelSpace) -> np.ndarray:
    """(n, outputs): one class per row shares one probability, several have one each, a score is itself."""
    logits = logits.cpu().double()
    if isinstance(space, ScoreLabels):
        return space.from_standard(logits.numpy())
    likely = logits.sigmoid() if space.kind == "multi" else logits.softmax(dim=1)
    return np.asarray(likely.numpy())


def answers_of(outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
    """A label for each row (None where it is withheld), the set of its labels, or its score or level."""
    if isinstance(space, ScoreLabels):
        scores = outputs[:, 0].tolist()
        return [space.level_of(score) for score in scores] if space.levels else scores
    if isinstance(space, MultiLabels):
        return list(space.sets(decision.chosen(outputs)))
    codes = decision.answers(outputs) if len(outputs) else np.empty(0, dtype=np.int64)
    return [None if code == ABSTAINED else space.classes[code] for code in codes.tolist()]
