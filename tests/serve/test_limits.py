"""Limits, overload, timeouts, token, draining and reloading, without a network."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from phasefit.errors import ModelError, PhasefitError
from phasefit.models.predictor import Predictor
from phasefit.serve.app import make_app
from phasefit.serve.limits import Limits, charge
from phasefit.serve.loading import Models, named_paths
from phasefit.serve.service import Service
from served import FakeModel, client_of, made_service, post

CLASSIFY = "/v1/classify"


class Gate:
    """Holds the worker until it is opened."""

    def __init__(self) -> None:
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self, texts: list[str]) -> None:
        self.entered.set()
        assert self.open.wait(10)


async def entered(gate: Gate) -> None:
    await asyncio.to_thread(gate.entered.wait, 10)


def message_of(response: httpx.Response) -> str:
    return str(response.json()["error"]["message"])


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "part"),
    [
        ({"queue_tokens": 100, "batch_tokens": 200}, "--queue-tokens 100 is less than --batch-tokens 200"),
        ({"max_texts": 100_000}, "--max-texts 100000 would never fit"),
        ({"max_body": 1000}, "--max-characters 20000 would never fit into --max-body 0.001"),
    ],
)
def test_impossible_limits_are_refused(limits: dict[str, int], part: str) -> None:
    with pytest.raises(PhasefitError, match=part):
        Limits(**limits)


def test_a_batch_too_small_for_a_model_is_refused() -> None:
    with pytest.raises(PhasefitError, match="too small for model 'fake', whose longest input has 64 tokens"):
        made_service({"fake": FakeModel()}, Limits(batch_tokens=10))


def test_each_limit_of_a_request_has_its_message() -> None:
    limits = Limits(max_texts=3, max_characters=10, max_body=200, queue_tokens=4096)
    service = made_service({"fake": FakeModel()}, limits)
    for content, part in (
        ({"input": ["a"] * 4}, "input: has 4 texts, and the server accepts 3"),
        ({"input": ["a", "b" * 11]}, "input[1]: has 11 characters, and the server accepts 10"),
        ({"input": "a", "user": "u" * 300}, "the body has more than 0.0002 MB"),
        ({"input": "a", "user": "u" * 3000}, "the body has more than 0.0002 MB"),
    ):
        response = post(service, CLASSIFY, content)
        assert response.status_code == 413
        assert part in message_of(response)


def test_a_request_larger_than_the_queue_is_not_asked_to_retry() -> None:
    service = made_service({"fake": FakeModel()}, Limits(queue_tokens=64, batch_tokens=64, max_texts=20))
    response = post(service, CLASSIFY, {"input": ["word " * 40] * 10})
    assert response.status_code == 413
    assert "the queue holds 64" in message_of(response)


def test_charges() -> None:
    assert charge("", 100) == 2
    assert charge("word" * 10, 100) == 12
    assert charge("word" * 1000, 100) == 100
    assert charge(("word", "word"), 100) == 4
    assert charge("語" * 8, 100) == 8  # more tokens per character than English


# --- overload ---------------------------------------------------------------------------------------------------------


def test_overload_refuses_single_and_batch_requests_alike() -> None:
    """Ten texts fit into the queue, in one request or in ten."""
    text, gate = "x" * 32, Gate()  # 10 tokens each
    limits = Limits(queue_tokens=100, batch_tokens=64, max_texts=20)

    async def run(requests: list[list[str]]) -> list[httpx.Response]:
        service = made_service({"fake": FakeModel(gate)}, limits)
        async with client_of(service) as client:
            tasks = [asyncio.create_task(client.post(CLASSIFY, json={"input": texts})) for texts in requests]
            await entered(gate)
            refused = await client.post(CLASSIFY, json={"input": text})
            gate.open.set()
            answers = [await task for task in tasks]
            assert service.batcher.is_idle
            return [refused, *answers]

    for requests in ([[text]] * 10, [[text] * 10]):
        gate.entered.clear(), gate.open.clear()
        refused, *answers = asyncio.run(run(requests))
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert [answer.status_code for answer in answers] == [200] * len(requests)


def test_a_request_that_would_time_out_is_refused_at_once() -> None:
    """A slow server refuses before its queue is full; with nothing waiting, it accepts."""
    service = made_service({"fake": FakeModel()}, Limits(timeout=10))
    service.batcher._speed = 10.0  # tokens per second
    assert post(service, CLASSIFY, {"input": "a"}).status_code == 200
    service.batcher._speed, service.batcher._held_tokens = 10.0, 60
    refused = post(service, CLASSIFY, {"input": "a"})
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "6"


def test_a_client_that_waits_for_its_answers_is_never_refused() -> None:
    """Its charge is returned before its answer, and slow small batches do not count as overload."""
    text = "x" * 32  # 10 tokens
    limits = Limits(queue_tokens=100, batch_tokens=64, max_texts=20, timeout=10)
    service = made_service({"fake": FakeModel()}, limits)

    async def run() -> set[int]:
        async with client_of(service) as client:
            await client.post(CLASSIFY, json={"input": "a"})
            assert service.batcher._speed == 0
            return {(await client.post(CLASSIFY, json={"input": [text] * 10})).status_code for _ in range(50)}

    assert asyncio.run(run()) == {200}


def test_requests_that_wait_are_computed_together_within_the_tokens_of_a_batch() -> None:
    gate = Gate()
    model = FakeModel(gate)
    service = made_service({"fake": model}, Limits(batch_tokens=64))

    async def run() -> list[Any]:
        async with client_of(service) as client:
            first = asyncio.create_task(client.post(CLASSIFY, json={"input": "first"}))
            await entered(gate)
            others = [
                asyncio.create_task(client.post(CLASSIFY, json={"input": ["x" * (32 + number % 2)] * 2}))
                for number in range(6)  # 20 tokens each
            ]
            while service.batcher._held_texts < 13:
                await asyncio.sleep(0.001)
            gate.open.set()
            return [(await task).json() for task in [first, *others]]

    answers = asyncio.run(run())
    assert [len(batch) for batch in model.seen[1:]] == [1, 6, 6]  # the first measures the size of embeddings
    labels = [[row["label"] for row in answer["data"]] for answer in answers]
    assert labels == [["odd"], *[["odd" if number % 2 else "even"] * 2 for number in range(6)]]


def test_a_large_request_is_computed_in_several_batches() -> None:
    model = FakeModel()
    service = made_service({"fake": model}, Limits(batch_tokens=64))
    texts = ["x" * (30 + number) for number in range(20)]
    rows = post(service, CLASSIFY, {"input": texts}).json()["data"]
    assert [row["label"] for row in rows] == ["odd" if len(text) % 2 else "even" for text in texts]
    assert len(model.seen) > 4
    assert [text for batch in model.seen[1:] for text in batch] == texts


def test_a_request_without_an_answer_in_time_gets_504() -> None:
    gate = Gate()
    service = made_service({"fake": FakeModel(gate)}, Limits(timeout=0.5))

    async def run() -> list[int]:
        async with client_of(service) as client:
            tasks = [asyncio.create_task(client.post(CLASSIFY, json={"input": "abc"}))]
            await entered(gate)
            tasks += [asyncio.create_task(client.post(CLASSIFY, json={"input": "abc"})) for _ in range(2)]
            statuses = [(await task).status_code for task in tasks]
            assert service.batcher._held_texts == 1  # the one that is being computed; those that waited are gone
            gate.open.set()
            while not service.batcher.is_idle:
                await asyncio.sleep(0.001)
            statuses.append((await client.post(CLASSIFY, json={"input": "abc"})).status_code)
            return statuses

    assert asyncio.run(run()) == [504, 504, 504, 200]


def test_a_body_that_does_not_arrive_in_time_gets_408() -> None:
    async def slow() -> Any:
        yield b'{"input": '
        await asyncio.sleep(1)
        yield b'"a"}'

    async def run() -> int:
        async with client_of(made_service({"fake": FakeModel()}, Limits(timeout=0.05))) as client:
            headers = {"content-type": "application/json"}
            return (await client.post(CLASSIFY, content=slow(), headers=headers)).status_code

    assert asyncio.run(run()) == 408


def test_bodies_that_arrive_at_once_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phasefit.serve.service.BODIES", 2)
    service = made_service({"fake": FakeModel()}, Limits(max_body=1000, max_characters=900))
    more = asyncio.Event()

    async def slow() -> Any:
        yield b'{"input": "a", "user": "' + b"x" * 800
        await more.wait()
        yield b'"}'

    async def run() -> list[int]:
        headers = {"content-type": "application/json"}
        async with client_of(service) as client:
            tasks = [asyncio.create_task(client.post(CLASSIFY, content=slow(), headers=headers)) for _ in range(3)]
            done, _ = await asyncio.wait(tasks, timeout=5, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result().headers["retry-after"] for task in done] == ["1"]
            more.set()
            statuses = sorted([(await task).status_code for task in tasks])
            return [*statuses, (await client.post(CLASSIFY, json={"input": "abc"})).status_code]

    assert asyncio.run(run()) == [200, 200, 429, 200]
    assert service._body_bytes == 0


def test_a_client_that_leaves_within_its_body_is_no_bug_of_the_server() -> None:
    sentences: list[str] = []
    service = made_service({"fake": FakeModel()}, report=sentences.append)
    messages = iter([{"type": "http.request", "body": b'{"inp', "more_body": True}, {"type": "http.disconnect"}])
    scope = {"type": "http", "method": "POST", "path": CLASSIFY, "query_string": b"", "root_path": ""}
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    asyncio.run(make_app(service)({**scope, "headers": headers}, receive, send))
    assert sent[0]["status"] == 400
    assert sentences == []
    assert service._body_bytes == 0


# --- failures ---------------------------------------------------------------------------------------------------------


def test_only_the_request_that_fails_is_refused_and_no_text_is_logged() -> None:
    gate, sentences = Gate(), []

    def before(texts: list[str]) -> None:
        gate(texts)
        if "poison" in texts:
            raise RuntimeError("poison")

    service = made_service({"fake": FakeModel(before)}, report=sentences.append)

    async def run() -> list[int]:
        async with client_of(service) as client:
            first = asyncio.create_task(client.post(CLASSIFY, json={"input": "first"}))
            await entered(gate)
            tasks = [asyncio.create_task(client.post(CLASSIFY, json={"input": text})) for text in ("a", "poison", "b")]
            while service.batcher._held_texts < 4:
                await asyncio.sleep(0.001)
            gate.open.set()
            return [(await task).status_code for task in [first, *tasks]]

    assert asyncio.run(run()) == [200, 200, 500, 200]
    assert sentences == ["model 'fake' failed on a request: RuntimeError"]
    assert service.batcher.is_idle


@pytest.mark.parametrize(("error", "status"), [(MemoryError(), 503), (ModelError("bad text"), 422)])
def test_failures_with_a_reason(error: Exception, status: int) -> None:
    def fail(texts: list[str]) -> None:
        raise error

    assert post(made_service({"fake": FakeModel(fail)}), CLASSIFY, {"input": "a"}).status_code == status


class PanicException(BaseException):
    """As libraries in Rust raise it."""


@pytest.mark.parametrize("error", [PanicException("poison"), SystemExit(1), KeyboardInterrupt()])
def test_nothing_ends_the_worker(error: BaseException) -> None:
    def before(texts: list[str]) -> None:
        if "poison" in texts:
            raise error

    service = made_service({"fake": FakeModel(before)}, Limits(timeout=2))

    async def run() -> list[int]:
        async with client_of(service) as client:
            return [(await client.post(CLASSIFY, json={"input": text})).status_code for text in ("poison", "abc")]

    assert asyncio.run(run()) == [500, 200]


# --- token ------------------------------------------------------------------------------------------------------------


def basic(password: str) -> str:
    return f"Basic {base64.b64encode(f'any:{password}'.encode()).decode()}"


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("Bearer secret-1", True),
        ("bearer secret-1", True),
        (basic("secret-1"), True),
        ("", False),
        ("Bearer", False),
        ("Bearer secret", False),
        ("Bearer sécret", False),
        (basic("secret"), False),
        ("Basic ???", False),
        ("Digest secret-1", False),
    ],
)
def test_the_token_protects_everything_except_health(header: str, allowed: bool) -> None:
    service = made_service({"fake": FakeModel()}, token="secret-1")

    async def run() -> dict[str, httpx.Response]:
        async with client_of(service) as client:
            headers = {"Authorization": header.encode("latin-1")} if header else {}
            paths = ("/", "/health", "/ready", "/info", "/metrics", "/v1/models", "/openapi.json", "/none")
            answers = {path: await client.get(path, headers=headers) for path in paths}
            answers[CLASSIFY] = await client.post(CLASSIFY, json={"input": "a"}, headers=headers)
            return answers

    answers = asyncio.run(run())
    assert answers.pop("/health").status_code == 200
    assert {answer.status_code for answer in answers.values()} == ({200, 404} if allowed else {401})
    if not allowed:
        assert "Bearer" in answers["/info"].headers["www-authenticate"]


# --- draining and reloading -------------------------------------------------------------------------------------------


def test_draining_answers_accepted_requests_and_refuses_new_ones() -> None:
    gate = Gate()
    service = made_service({"fake": FakeModel(gate)})

    async def run() -> None:
        async with client_of(service) as client:
            accepted = [asyncio.create_task(client.post(CLASSIFY, json={"input": "abc"})) for _ in range(3)]
            await entered(gate)
            draining = asyncio.create_task(service.drain())
            await asyncio.sleep(0)
            new = await client.post(CLASSIFY, json={"input": "abc"})
            assert new.status_code == 503
            assert new.headers["connection"] == "close"
            assert (await client.get("/ready")).status_code == 503
            assert (await client.get("/health")).status_code == 200
            assert not draining.done()
            gate.open.set()
            assert [(await task).status_code for task in accepted] == [200] * 3
            await asyncio.wait_for(draining, 5)

    asyncio.run(run())


def test_draining_ends_after_its_time() -> None:
    gate = Gate()
    service = made_service({"fake": FakeModel(gate)}, Limits(drain_seconds=0.05))

    async def run() -> None:
        async with client_of(service) as client:
            task = asyncio.create_task(client.post(CLASSIFY, json={"input": "abc"}))
            await entered(gate)
            await asyncio.wait_for(service.drain(), 5)
            assert service.running == 1
            gate.open.set()
            await task

    asyncio.run(run())


def test_reloading_drops_no_request_and_a_broken_model_changes_nothing() -> None:
    gate, sentences = Gate(), []
    versions = iter([FakeModel(gate), FakeModel(), ModelError("it is damaged")])

    def load(path: Path) -> Predictor:
        version = next(versions)
        if isinstance(version, Exception):
            raise version
        return version

    service = Service(Models({"fake": Path("fake")}, load, Limits()), Limits(), report=sentences.append)

    async def run() -> None:
        async with client_of(service) as client:
            before = service.models.all[0]
            accepted = asyncio.create_task(client.post(CLASSIFY, json={"input": "abc"}))
            await entered(gate)
            await service.reload()
            after = service.models.all[0]
            assert after is not before
            gate.open.set()
            assert (await accepted).status_code == 200
            await service.reload()
            assert service.models.all[0] is after
            assert (await client.post(CLASSIFY, json={"input": "abc"})).status_code == 200
            metrics = (await client.get("/metrics")).text
            assert 'phasefit_reloads_total{result="failed"} 1.0' in metrics

    asyncio.run(run())
    assert sentences == [
        "reloaded fake",
        "the models were not reloaded, and the current ones stay in use: it is damaged",
    ]


def test_signals_that_arrive_while_reloading_cause_one_more_reload() -> None:
    loaded: list[Path] = []
    gate = threading.Event()

    def load(path: Path) -> Predictor:
        loaded.append(path)
        assert len(loaded) == 1 or gate.wait(10)
        return FakeModel()

    service = Service(Models({"fake": Path("fake")}, load, Limits()), Limits())

    async def run() -> None:
        reloads = [asyncio.create_task(service.reload()) for _ in range(10)]
        await asyncio.sleep(0.05)
        reloads += [asyncio.create_task(service.reload()) for _ in range(10)]
        gate.set()
        await asyncio.gather(*reloads)
        service.draining = True
        await service.reload()

    asyncio.run(run())
    assert len(loaded) == 3  # at the start, and two reloads


# --- names ------------------------------------------------------------------------------------------------------------


def test_names_of_models(tmp_path: Path) -> None:
    one, other, odd = (tmp_path / name for name in ("a/reviews", "b/reviews", "b/two words=x"))
    for folder in (one, other, odd):
        folder.mkdir(parents=True)
    assert named_paths([str(one)]) == {"reviews": one}
    assert named_paths([str(one), f"new={other}"]) == {"reviews": one, "new": other}
    with pytest.raises(ModelError, match="two models have the name 'reviews'"):
        named_paths([str(one), str(other)])
    with pytest.raises(ModelError, match="cannot be the name of a model"):
        named_paths([str(odd)])
    assert named_paths([f"odd={odd}"]) == {"odd": odd}
    with pytest.raises(ModelError, match="model 'x': there is no folder"):
        named_paths([f"x={tmp_path}/missing"])


# --- requests that are not JSON ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {"content-type": "application/json"}, 422),
        (b"{", {"content-type": "application/json"}, 422),
        (b"\xff", {"content-type": "application/json"}, 422),
        (b"[" * 100_000, {"content-type": "application/json"}, 422),
        (b'{"input": "\\ud800"}', {"content-type": "application/json"}, 422),
        (b'{"input": NaN}', {"content-type": "application/json"}, 422),
        (b'{"input": "a"}', {"content-type": "application/json; charset=utf-8"}, 200),
        (b'{"input": "a"}', {}, 415),
        (b'{"input": "a"}', {"content-type": "text/plain"}, 415),
        (b'{"input": "a"}', {"content-type": "application/json", "content-encoding": "gzip"}, 415),
    ],
)
def test_bodies(body: bytes, headers: dict[str, str], status: int) -> None:
    async def run() -> httpx.Response:
        async with client_of(made_service({"fake": FakeModel()})) as client:
            return await client.post(CLASSIFY, content=body, headers=headers)

    response = asyncio.run(run())
    assert response.status_code == status, response.text
    json.loads(response.text)


def test_unknown_paths_and_methods() -> None:
    async def run() -> list[int]:
        async with client_of(made_service({"fake": FakeModel()})) as client:
            slash = await client.post(f"{CLASSIFY}/", json={"input": "a"}, headers={"host": "elsewhere.example"})
            assert "location" not in slash.headers
            answers = [slash, await client.get("/none"), await client.get(CLASSIFY)]
            return [answer.status_code for answer in answers]

    assert asyncio.run(run()) == [404, 404, 405]
