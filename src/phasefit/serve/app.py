"""The routes; the only file that imports FastAPI. `wire` reads and checks bodies, because it names wrong fields."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from phasefit.serve import explaining
from phasefit.serve.guard import FLAT_ERRORS, Guard, refusal_headers
from phasefit.serve.info import info, model_list
from phasefit.serve.limits import MEGABYTE, Limits
from phasefit.serve.loading import Models
from phasefit.serve.metrics import CONTENT_TYPE
from phasefit.serve.page import page
from phasefit.serve.refusals import Refusal, too_large
from phasefit.serve.service import Service
from phasefit.serve.wire import classify, embeddings, inference
from phasefit.serve.wire.fields import read_object, write_json
from phasefit.serve.wire.question import Question

JSON = "application/json"
DISCARDED = 4  # bodies are read up to this multiple of the limit, so that the client receives the refusal
Read = Callable[[Mapping[str, Any], Models, Limits], Question]


def make_app(service: Service) -> Guard:
    """The application of a service."""
    from phasefit import __version__

    app = FastAPI(
        title="phasefit serve",
        version=__version__,
        description="Text classifiers and embeddings.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # the address of a redirect would be built from a header of the client
        separate_input_output_schemas=False,
    )
    _add_answers(app, service)
    _add_facts(app, service)

    @app.exception_handler(Refusal)
    async def refuse(request: Request, refusal: Refusal) -> Response:
        return _refused(refusal, request)

    @app.exception_handler(HTTPException)
    async def refuse_route(request: Request, error: HTTPException) -> Response:
        sentences = {404: "there is no such path", 405: "this path does not accept this method"}
        sentence = sentences.get(error.status_code, str(error.detail))
        response = _refused(Refusal(error.status_code, f"{sentence}; see GET /openapi.json"), request)
        response.headers.update(error.headers or {})
        return response

    return Guard(app, service)


def _add_answers(app: FastAPI, service: Service) -> None:
    """The routes that compute."""
    names = service.models.names

    def add(path: str, read: Read, title: str, schema: dict[str, Any], example: Any) -> None:
        async def endpoint(request: Request) -> Response:
            return await _compute(service, request, read)

        app.post(path, **_description(path, title, _with_names(schema, names), example))(endpoint)

    add(classify.PATH, classify.read, "Classify texts (vLLM)", classify.SCHEMA, classify.ANSWER)
    add(embeddings.PATH, embeddings.read, "Embed texts (OpenAI)", embeddings.SCHEMA, embeddings.ANSWER)
    schema, example = inference.PREDICT_SCHEMA, inference.PREDICT_ANSWER
    add(inference.PREDICT, inference.read_predict, "Classify texts (text-embeddings-inference)", schema, example)
    add("/", _read_any, "Classify texts, or embed them if the model has no classifier", schema, example)
    schema, example_vectors = inference.EMBED_SCHEMA, inference.EMBED_ANSWER
    add(inference.EMBED, inference.read_embed, "Embed texts (text-embeddings-inference)", schema, example_vectors)

    async def endpoint(request: Request) -> Response:
        deadline = service.deadline()
        content = await _content(request, service, deadline)
        if not service.explains:
            raise Refusal(404, "explanations are switched off (--no-explain)")
        target, text = explaining.read(content, service.models, service.limits)
        return _json(await service.explain(target, text, deadline))

    schema, example_words = _with_names(explaining.SCHEMA, names), explaining.ANSWER
    app.post(explaining.PATH, **_description(explaining.PATH, "Explain a prediction", schema, example_words))(endpoint)


def _read_any(content: Mapping[str, Any], models: Models, limits: Limits) -> Question:
    """`POST /` is /predict, or /embed if no model has a classifier."""
    read = inference.read_predict if any(model.tasks for model in models.all) else inference.read_embed
    return read(content, models, limits)


def _add_facts(app: FastAPI, service: Service) -> None:
    """The routes that report."""

    @app.get("/health", summary="Whether the process is alive")
    async def health() -> Response:
        return _json({"status": "ok"})

    @app.get("/ready", summary="Whether new requests are accepted")
    async def ready() -> Response:
        status = "ready" if service.is_ready else "shutting down"
        return _json({"status": status}, 200 if service.is_ready else 503)

    @app.get("/info", summary="Models, tasks, classes and limits")
    async def about() -> Response:
        return _json(info(service.models, service.limits) | {"explains": service.explains})

    @app.get("/v1/models", summary="The names of the models (OpenAI)")
    async def models() -> Response:
        return _json(model_list(service.models))

    @app.get("/metrics", summary="Metrics for Prometheus", responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/", include_in_schema=False)
    async def root() -> Response:
        html, headers = page()
        return Response(html, media_type="text/html; charset=utf-8", headers=headers)


async def _compute(service: Service, request: Request, read: Read) -> Response:
    """Read a request, wait for its result and write it."""
    deadline = service.deadline()
    question = read(await _content(request, service, deadline), service.models, service.limits)
    return _json(await service.ask(question, deadline))


async def _content(request: Request, service: Service, deadline: float) -> dict[str, Any]:
    """The JSON object of a request; a model in the address is added to it."""
    body = await _body(request, service, deadline)
    if service.batcher.is_full:  # before any work is spent on it
        raise service.batcher.overloaded()
    content = read_object(body)
    if "model" in request.query_params:
        content.setdefault("model", request.query_params["model"])
    return content


async def _body(request: Request, service: Service, deadline: float) -> bytes:
    """The body, of limited size and within the time of a request."""
    most = service.limits.max_body
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON or request.headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, f"the body must be uncompressed JSON with the header 'Content-Type: {JSON}'")
    stated = request.headers.get("content-length", "")
    excess = too_large(f"the body has more than {most / MEGABYTE:g} MB, the limit of the server (--max-body)", "body")
    if stated.isdecimal() and int(stated) > DISCARDED * most:
        raise excess
    parts, size, held = [], 0, 0
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            async for part in request.stream():
                size += len(part)
                if size <= most:
                    service.hold_body(len(part))
                    held += len(part)
                    parts.append(part)
                elif size > DISCARDED * most:
                    raise excess
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {service.limits.timeout:g} s (--timeout)") from None
    except ClientDisconnect:
        raise Refusal(400, "the connection was closed before the body was complete", field="body") from None
    finally:
        service.release_body(held)
    if size > most:
        raise excess
    return b"".join(parts)


def _json(content: Any, status: int = 200) -> Response:
    return Response(write_json(content), status, media_type=JSON)


def _refused(refusal: Refusal, request: Request) -> Response:
    response = _json(refusal.content(flat=request.url.path in FLAT_ERRORS), refusal.status)
    for name, value in refusal_headers(refusal):
        response.headers[name.decode()] = value.decode()
    return response


def _with_names(schema: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A schema that lists the models of this server, and an example with one of them."""
    properties = schema["properties"]
    example = dict(schema["example"])
    if "model" in example:
        example["model"] = names[0]
    return {
        **schema,
        "properties": {**properties, "model": {**properties["model"], "enum": names}},
        "example": example,
    }


def _description(path: str, title: str, schema: dict[str, Any], example: Any) -> dict[str, Any]:
    """How a route that computes appears in the description of the server."""
    return {
        "summary": title,
        "operation_id": f"post_{path.strip('/').replace('/', '_') or 'root'}",
        "responses": _responses(example),
        "openapi_extra": {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}},
    }


def _responses(example: Any) -> dict[int | str, dict[str, Any]]:
    """The documented responses of a route that computes."""
    refused = {
        401: "The token is missing or wrong.",
        403: "The header Host names another server.",
        404: "There is no such model.",
        408: "The body did not arrive in time.",
        413: "The body, a text or the number of texts exceeds a limit.",
        415: "The body is not JSON.",
        422: "A field is wrong; the message names it.",
        429: "The queue is full; see the header Retry-After.",
        500: "The model failed.",
        503: "The server is shutting down.",
        504: "There was no answer in time.",
    }
    answer = {"description": "The answer.", "content": {JSON: {"example": example}}}
    return {200: answer, **{status: {"description": text} for status, text in refused.items()}}
