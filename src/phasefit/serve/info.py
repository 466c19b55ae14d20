"""What the server reports about itself and its models; no texts."""

from __future__ import annotations

from typing import Any

from phasefit.models.predictor import TASK
from phasefit.serve.engines import NO_LIMIT
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models, ServedModel, Target


def info(models: Models, limits: Limits) -> dict[str, Any]:
    """`GET /info`: the names of text-embeddings-inference where they exist, then all models with tasks and classes."""
    from phasefit import __version__

    first = models.all[0]
    return {
        "model_id": first.name,
        "max_input_length": _known(first.engine.longest),
        "max_batch_tokens": limits.batch_tokens,
        "max_client_batch_size": limits.max_texts,
        "version": __version__,
        "max_characters": limits.max_characters,
        "max_body_bytes": limits.max_body,
        "timeout_seconds": limits.timeout,
        "queue_tokens": limits.queue_tokens,
        "models": [_model_info(model) for model in models.all],
    }


def model_list(models: Models) -> dict[str, Any]:
    """`GET /v1/models` in OpenAI's format: every name that a request may use."""
    loaded = {model.name: model.loaded for model in models.all}
    return {
        "object": "list",
        "data": [
            {"id": name, "object": "model", "created": loaded[name.partition("/")[0]], "owned_by": "phasefit"}
            for name in models.names
        ],
    }


def _model_info(model: ServedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "loaded": model.loaded,
        "embedding_size": model.dimension,
        "max_input_length": _known(model.engine.longest),
        "exact_token_counts": model.engine.counts_tokens,
        "tasks": [_task_info(Target(model, task)) for task in model.tasks],
    }


def _task_info(target: Target) -> dict[str, Any]:
    decision = target.model.predictor.decision(target.task or TASK)
    return {
        "model": target.name,
        "kind": target.kind.name,
        "answer": target.kind.answer,
        "pairs": target.reads_pairs,
        "classes": list(target.space.names),
        "reject_below": decision.reject_below or None,
        "thresholds": list(decision.thresholds) or None,
    }


def _known(tokens: int) -> int | None:
    return None if tokens >= NO_LIMIT else tokens
