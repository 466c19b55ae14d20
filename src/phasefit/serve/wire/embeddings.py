"""`POST /v1/embeddings` in the format of OpenAI."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit.serve.batcher import Result
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, Target
from phasefit.serve.refusals import invalid
from phasefit.serve.wire.classify import texts_of, usage
from phasefit.serve.wire.fields import TEXT, choice_field, count_field, text_field
from phasefit.serve.wire.question import Question

PATH = "/v1/embeddings"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["input"],
    "properties": {
        "model": {"type": "string", "description": "A name from GET /v1/models; optional with one model."},
        "input": {
            "description": "A text or a list of texts.",
            "anyOf": [
                TEXT,
                {"type": "array", "minItems": 1, "items": TEXT},
            ],
        },
        "encoding_format": {"type": "string", "enum": ["float", "base64"], "default": "float"},
        "dimensions": {"type": "integer", "minimum": 1, "description": "Must be the size of the model's embeddings."},
        "user": {"type": "string"},
    },
    "example": {"model": "reviews", "input": ["arrived broken"]},
}
ANSWER = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.12, -0.03, 0.99]}],
    "model": "reviews",
    "usage": {"prompt_tokens": 4, "total_tokens": 4},
}


def read(content: Mapping[str, Any], models: Models, limits: Limits) -> Question:
    """What a body asks for."""
    target = models.for_embedding(text_field(content, "model"))
    encoding = choice_field(content, "encoding_format", ("float", "base64"))
    check_dimensions(content, target)
    texts = texts_of(content, target, limits)
    return Question(target, texts, "input", lambda result: answer(target, result, encoding == "base64"))


def check_dimensions(content: Mapping[str, Any], target: Target) -> None:
    """Refuse any other size than that of the model."""
    asked, size = count_field(content, "dimensions"), target.model.dimension
    if asked is not None and asked != size:
        raise invalid("dimensions", f"must be {size}, the size of the embeddings of model '{target.name}', or missing")


def answer(target: Target, result: Result, in_base64: bool) -> dict[str, Any]:
    """The response; base64 encodes little-endian 32-bit floats."""
    vectors = result.rows.astype("<f4", copy=False)
    written = [_base64(row) for row in vectors] if in_base64 else vectors.tolist()
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(written)],
        "model": target.name,
        "usage": usage(result),
    }


def _base64(row: np.ndarray) -> str:
    return base64.b64encode(row.tobytes()).decode("ascii")
