"""Outputs of a head as labels and scores, for every label kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from phasefit.kinds.multi import written_set
from phasefit.models.predictor import TASK
from phasefit.serve.loading import Target

SCORE = "score"  # the label of a prediction that is a number


def predictions(target: Target, outputs: np.ndarray) -> list[dict[str, Any]]:
    """For each row its label (None if it is withheld or no class applies), probabilities and, for sets, its labels."""
    space, kind = target.space, target.kind
    decision = target.model.predictor.decision(target.task or TASK)
    rows = []
    for codes, row in zip(kind.predicted_codes(outputs, decision), outputs.tolist(), strict=True):
        names = [space.names[code] for code in codes]
        if kind.answer == "set":
            rows.append({"label": written_set(names, space.names), "labels": names, "probs": row})
        else:
            rows.append({"label": names[0] if names else None, "probs": row})
    return rows


def ranked_scores(target: Target, outputs: np.ndarray, most: int | None = None) -> list[list[dict[str, Any]]]:
    """For each row the labels with their scores, highest first.

    A number is one score, named `score` or after its level. A withheld prediction starts with the label None and the
    probability that was too low.
    """
    space, kind = target.space, target.kind
    decision = target.model.predictor.decision(target.task or TASK)
    if not kind.has_classes:
        levels = kind.answers(outputs, space, decision) if len(space) else [SCORE] * len(outputs)
        return [
            [{"label": str(level), "score": score}] for level, score in zip(levels, outputs[:, 0].tolist(), strict=True)
        ]
    rows = []
    order = np.argsort(-outputs, axis=1, kind="stable")[:, :most].tolist()
    for codes, ranking, row in zip(kind.predicted_codes(outputs, decision), order, outputs.tolist(), strict=True):
        scores: list[dict[str, Any]] = [{"label": space.names[code], "score": row[code]} for code in ranking]
        if not codes and kind.answer == "class":
            scores.insert(0, {"label": None, "score": row[ranking[0]]})
        rows.append(scores)
    return rows
