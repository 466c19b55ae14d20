"""`POST /predict` and `POST /embed` in the formats of text-embeddings-inference.

Clients of Hugging Face's inference API, such as huggingface_hub, send options inside `parameters` and expect the
classes of a single text inside a list; a body with that field is answered in this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, Target
from phasefit.serve.refusals import invalid
from phasefit.serve.wire.embeddings import check_dimensions
from phasefit.serve.wire.fields import (
    TEXT,
    check_input,
    check_inputs,
    choice_field,
    count_field,
    flag_field,
    kind_of_json,
    refuse_fields,
    text_field,
)
from phasefit.serve.wire.labels import ranked_scores
from phasefit.serve.wire.question import Question

PREDICT, EMBED = "/predict", "/embed"
COMMON = {
    "model": {"type": "string", "description": "A name from GET /v1/models, also as ?model=; optional with one model."},
    "truncate": {"type": "boolean", "default": True, "description": "false: refuse texts that the model would cut."},
}
PREDICT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["inputs"],
    "properties": {
        "inputs": {
            "description": "A text; a pair of two texts; or a batch of lists of one text, or of two for pairs.",
            "anyOf": [
                TEXT,
                {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2},
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2},
                },
            ],
        },
        **COMMON,
        "task": {"type": "string", "description": "The task of a model with several; the same as model NAME/TASK."},
        "parameters": {"type": "object", "properties": {"top_k": {"type": "integer", "minimum": 1}}},
    },
    "example": {"inputs": "arrived broken"},
}
EMBED_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["inputs"],
    "properties": {
        "inputs": {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]},
        **COMMON,
        "normalize": {"type": "boolean", "default": True, "description": "false: the model's own vectors."},
        "dimensions": {"type": "integer", "minimum": 1, "description": "Must be the size of the model's embeddings."},
    },
    "example": {"inputs": ["arrived broken", "works very well"]},
}
PREDICT_ANSWER = [{"label": "bad", "score": 0.97}, {"label": "good", "score": 0.03}]
EMBED_ANSWER = [[0.12, -0.03, 0.99]]
UNSUPPORTED = {"prompt_name": "is not supported; the model's own prompt is used"}


def read_predict(content: Mapping[str, Any], models: Models, limits: Limits) -> Question:
    """What a body of /predict asks for."""
    target = models.for_prediction(text_field(content, "model"), text_field(content, "task"))
    nested, options = "parameters" in content, _parameters(content)
    if flag_field(content, "raw_scores"):
        raise invalid("raw_scores", "is not supported; the server returns probabilities")
    refuse_fields(options, {"function_to_apply": "is not supported; the model's own function is applied"})
    most = count_field(options, "top_k")
    texts, is_batch = _predict_inputs(content, target, limits)

    def answer(result: Any) -> Any:
        rows = ranked_scores(target, result.rows, most)
        return rows if is_batch or nested else rows[0]

    return Question(target, texts, "inputs", answer, _refuses_cut(content))


def read_embed(content: Mapping[str, Any], models: Models, limits: Limits) -> Question:
    """What a body of /embed asks for."""
    target = models.for_embedding(text_field(content, "model"))
    content = {**_parameters(content), **content}
    check_dimensions(content, target)
    choice_field(content, "encoding_format", ("float",))
    normalise = flag_field(content, "normalize") is not False
    given = inputs_of(content)
    texts = check_inputs(given if isinstance(given, list) else [given], "inputs", target, limits)

    def answer(result: Any) -> list[list[float]]:
        vectors = result.rows
        if normalise:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        rows: list[list[float]] = vectors.astype(np.float32, copy=False).tolist()
        return rows

    return Question(target, texts, "inputs", answer, _refuses_cut(content))


def _predict_inputs(content: Mapping[str, Any], target: Target, limits: Limits) -> tuple[list[Any], bool]:
    """The texts or pairs, and whether the answer is a list with one entry for each."""
    given = inputs_of(content)
    if isinstance(given, list) and given and isinstance(given[0], list):  # a batch
        if target.reads_pairs:
            return check_inputs(given, "inputs", target, limits), True
        flat = [_only(one, f"inputs[{place}]", target) for place, one in enumerate(given)]
        return check_inputs(flat, "inputs", target, limits), True
    if target.reads_pairs or not isinstance(given, list):
        return [check_input(given, "inputs", target, limits)], False
    if len(given) != 1:
        raise invalid(
            "inputs",
            f"a list of texts is one pair, and model '{target.name}' reads single texts; for a batch, write each text "
            'in its own list: [["first"], ["second"]]',
        )
    return check_inputs(given, "inputs", target, limits), False


def _only(value: object, where: str, target: Target) -> object:
    """The text in a list of one."""
    if not isinstance(value, list) or len(value) != 1:
        raise invalid(where, f"must be a list of one text, because model '{target.name}' reads single texts")
    return value[0]


def inputs_of(content: Mapping[str, Any]) -> Any:
    """The field `inputs`: a text or a list."""
    given = content.get("inputs")
    if given is None:
        raise invalid("inputs", "is missing; give a text or a list of texts")
    if not isinstance(given, str | list):
        raise invalid("inputs", f"must be a text or a list, not {kind_of_json(given)}")
    if not given:
        raise invalid("inputs", "must not be empty")
    return given


def _parameters(content: Mapping[str, Any]) -> dict[str, Any]:
    given = content.get("parameters")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise invalid("parameters", f"must be an object, not {kind_of_json(given)}")
    return given


def _refuses_cut(content: Mapping[str, Any]) -> bool:
    refuse_fields(content, UNSUPPORTED)
    side = text_field(content, "truncation_direction")
    if side is not None and side.lower() != "right":
        raise invalid("truncation_direction", "must be right; texts are cut as in training")
    return flag_field(content, "truncate") is False
