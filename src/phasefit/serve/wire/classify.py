"""`POST /v1/classify` in the format of vLLM."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from phasefit.serve.batcher import Result
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, Target
from phasefit.serve.refusals import invalid
from phasefit.serve.wire.fields import (
    TEXT,
    check_input,
    check_inputs,
    check_text,
    flag_field,
    kind_of_json,
    refuse_fields,
    text_field,
)
from phasefit.serve.wire.labels import predictions
from phasefit.serve.wire.question import Question

PATH = "/v1/classify"
UNSUPPORTED = {
    "messages": "is not supported; give texts in input",
    "truncate_prompt_tokens": "is not supported; texts are cut at the limit of the model",
}
RAW = ("use_activation", "activation", "softmax")  # false asks for logits
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["input"],
    "properties": {
        "model": {"type": "string", "description": "A name from GET /v1/models; optional with one model."},
        "input": {
            "description": "A text or a list of texts; for a model of pairs, a list of lists of two texts.",
            "anyOf": [
                TEXT,
                {"type": "array", "minItems": 1, "items": TEXT},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "array",
                        "items": TEXT,
                        "minItems": 2,
                        "maxItems": 2,
                    },
                },
            ],
        },
        "task": {"type": "string", "description": "The task of a model with several; the same as model NAME/TASK."},
        "user": {"type": "string"},
    },
    "example": {"model": "reviews", "input": ["arrived broken", "works very well"]},
}
ANSWER = {
    "id": "classify-1f0c2d3e4a5b6c7d8e9f0a1b2c3d4e5f",
    "object": "list",
    "created": 1760000000,
    "model": "reviews",
    "data": [{"index": 0, "label": "bad", "probs": [0.97, 0.03], "num_classes": 2}],
    "usage": {"prompt_tokens": 4, "total_tokens": 4, "completion_tokens": 0, "prompt_tokens_details": None},
}


def read(content: Mapping[str, Any], models: Models, limits: Limits) -> Question:
    """What a body asks for."""
    target = models.for_prediction(text_field(content, "model"), text_field(content, "task"))
    if not target.kind.has_classes:
        raise invalid("model", f"model '{target.name}' predicts scores, which are not classes; use POST /predict")
    refuse_fields(content, UNSUPPORTED)
    for name in RAW:
        if flag_field(content, name) is False:
            raise invalid(name, "false is not supported; the server returns probabilities")
    return Question(target, texts_of(content, target, limits), "input", lambda result: answer(target, result))


def texts_of(content: Mapping[str, Any], target: Target, limits: Limits) -> list[Any]:
    """The texts or pairs in the field `input`; the field `user` is checked and has no effect."""
    text_field(content, "user")
    if "input" not in content:
        raise invalid("input", "is missing; give a text or a list of texts")
    given = content["input"]
    if isinstance(given, list):
        if given and isinstance(given[0], int) and not isinstance(given[0], bool):
            raise invalid("input", "must contain texts; token ids are not supported")
        return check_inputs(given, "input", target, limits)
    if target.reads_pairs:
        return [check_input(given, "input", target, limits)]
    if not isinstance(given, str):
        raise invalid("input", f"must be a text or a list of texts, not {kind_of_json(given)}")
    return [check_text(given, "input", limits)]


def answer(target: Target, result: Result) -> dict[str, Any]:
    """The response."""
    classes = len(target.space)
    return {
        "id": f"classify-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": target.name,
        "data": [
            {"index": index, **row, "num_classes": classes}
            for index, row in enumerate(predictions(target, result.rows))
        ],
        "usage": usage(result) | {"completion_tokens": 0, "prompt_tokens_details": None},
    }


def usage(result: Result) -> dict[str, Any]:
    """The tokens that were read."""
    return {"prompt_tokens": result.tokens, "total_tokens": result.tokens}
