"""`POST /explain`: the words that mattered for the prediction of one text, and the nearest training texts.

Training texts are served only if the operator asks for it; they are read and embedded when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from phasefit.explain.deletion import DRAWS
from phasefit.explain.occlusion import MOST_PARTS
from phasefit.explain.words import words_of
from phasefit.models.predictor import Predictor
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, Target
from phasefit.serve.wire.fields import TEXT, check_input, text_field
from phasefit.serve.wire.inference import inputs_of

PATH = "/explain"
TEST_VARIANTS = DRAWS + 2  # predictions of the deletion test of one label
NEIGHBOURS = 3
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["inputs"],
    "properties": {
        "model": {"type": "string", "description": "A name from GET /v1/models; optional with one model."},
        "task": {"type": "string", "description": "The task of a model with several; the same as model NAME/TASK."},
        "inputs": {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}]},
    },
    "example": {"inputs": "arrived broken"},
}
ANSWER = {
    "model": "reviews",
    "explanations": [
        {
            "label": "bad",
            "probability": 0.97,
            "text": "arrived broken",
            "words": [
                {"start": 0, "end": 7, "text": "arrived", "weight": 0.2, "side": 0},
                {"start": 8, "end": 14, "text": "broken", "weight": 3.1, "side": 0},
            ],
        }
    ],
    "test": {"sentence": "deleting the most important word lowers the probability by 0.61, a random word by 0.31"},
    "neighbours": [{"text": "came in pieces", "label": "bad", "similarity": 0.83}],
}


def read(content: Mapping[str, Any], models: Models, limits: Limits) -> tuple[Target, Any]:
    """The task and the text or pair that a body asks about."""
    target = models.for_prediction(text_field(content, "model"), text_field(content, "task"))
    given = inputs_of(content)
    return target, check_input(given, "inputs", target, limits)


def predictions_of(text: str | tuple[str, str]) -> int:
    """How many predictions an explanation takes, about: one without each word, and those of the deletion test."""
    words = sum(len(words_of(part)) for part in ([text] if isinstance(text, str) else text))
    return min(words, MOST_PARTS) + TEST_VARIANTS


class PausingPredictor:
    """A predictor that computes few texts at a time and lets other requests be answered in between."""

    def __init__(self, predictor: Predictor, at_once: int, pause: Callable[[], None]) -> None:
        self._predictor, self._at_once, self._pause = predictor, at_once, pause

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def predict_outputs(self, texts: Sequence[Any], **options: Any) -> np.ndarray:
        """The outputs of all texts."""
        parts = []
        for start in range(0, len(texts), self._at_once):
            if start:
                self._pause()
            parts.append(self._predictor.predict_outputs(texts[start : start + self._at_once], **options))
        self._pause()
        return np.concatenate(parts)


def explain(target: Target, text: Any, at_once: int, pause: Callable[[], None]) -> dict[str, Any]:
    """The content of the answer; runs on the worker thread, and predicts `at_once` texts between two pauses."""
    from phasefit.explain import deletion_test, explain_texts, to_json

    model = target.model
    predictor: Any = PausingPredictor(model.predictor, at_once, pause)
    explanations = explain_texts(predictor, [text], task=target.task)
    vectors = model.training.get(target.task or "")
    return {
        "model": target.name,
        "explanations": to_json(explanations),
        "test": to_json(deletion_test(predictor, explanations)),
        "neighbours": [] if vectors is None else to_json(vectors.nearest([text], NEIGHBOURS)[0]),
    }


def read_training(path: Path, predictor: Predictor) -> dict[str, Any]:
    """The training texts of a run with their embeddings, by task; an error in one sentence if they are gone."""
    from phasefit.explain import TrainingVectors
    from phasefit.runs.run import Run

    run = Run.open_model(path)
    tasks = [str(task) for task in predictor.heads]
    several = len(tasks) > 1
    return {task: TrainingVectors.of(predictor, run, task if several else None) for task in tasks}
