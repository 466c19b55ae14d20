"""The clients that people have, and signals, with a real server on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from phasefit.models.model import Model
from phasefit.serve.server import Address
from phasefit.serve.service import Service
from served import TEXTS, FakeModel, made_model, made_service, running


@pytest.fixture(scope="module")
def model(tiny_folder: Path) -> Model:
    return made_model(tiny_folder)


@pytest.fixture(scope="module")
def address(model: Model) -> Iterator[str]:
    with running(made_service({"tiny": model}, token="secret")) as url:
        yield url


@pytest.mark.parametrize("encoding", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}])
def test_the_client_of_openai(address: str, model: Model, encoding: dict[str, Any]) -> None:
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{address}/v1", api_key="secret", max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["tiny"]
        answer = client.embeddings.create(model="tiny", input=TEXTS, **encoding)
        assert answer.usage.prompt_tokens > 0
        first = answer.data[0].embedding
        if encoding.get("encoding_format") != "base64":  # which is returned as it came, if it was asked for
            np.testing.assert_allclose(first, model.embed(TEXTS)[0], atol=1e-5)
        with pytest.raises(openai.NotFoundError, match="known: tiny"):
            client.embeddings.create(model="other", input="a")
        with pytest.raises(openai.UnprocessableEntityError, match="dimensions: must be 32"):
            client.embeddings.create(model="tiny", input="a", dimensions=3)


def test_the_client_of_openai_without_the_token(address: str) -> None:
    openai = pytest.importorskip("openai")
    with (
        openai.OpenAI(base_url=f"{address}/v1", api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError, match="token is missing or wrong"),
    ):
        client.embeddings.create(model="tiny", input="a")


def test_the_client_of_hugging_face(address: str, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # it refuses loopback, too
    predict = hub.InferenceClient(model=f"{address}/predict", token="secret")
    labels = predict.text_classification(TEXTS[0])
    assert labels[0].label == model.predict(TEXTS[:1])[0]
    assert [one.score for one in labels] == pytest.approx(sorted(model.predict_proba(TEXTS[:1])[0])[::-1], abs=1e-6)
    assert len(predict.text_classification(TEXTS[0], top_k=2)) == 2
    assert hub.InferenceClient(model=address, token="secret").text_classification(TEXTS[0]) == labels
    embed = hub.InferenceClient(model=f"{address}/embed", token="secret")
    vectors = embed.feature_extraction(TEXTS, normalize=True, truncate=True)  # type: ignore[arg-type]
    np.testing.assert_allclose(vectors, model.embed(TEXTS), atol=1e-5)


def test_openai_retries_after_overload() -> None:
    """The client waits as long as Retry-After asks for, then succeeds."""
    openai = pytest.importorskip("openai")
    service = made_service({"fake": FakeModel()})
    original, refused = service.batcher.compute, []

    async def first_refuses(*args: Any) -> Any:
        if not refused:
            refused.append(True)
            raise service.batcher.overloaded()
        return await original(*args)

    service.batcher.compute = first_refuses  # type: ignore[method-assign]
    with running(service) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="x", max_retries=1) as client:
        start = time.monotonic()
        assert client.embeddings.create(model="fake", input="abc").data[0].embedding[0] == 3
        assert time.monotonic() - start > 0.9


# --- the process ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model without an encoder, which starts quickly."""
    from phasefit.data.labels import label_space
    from phasefit.models.tfidf.model import LinearWeights, TfidfHead, TfidfModel
    from phasefit.runs.results import save_model

    head = TfidfHead(("rain", "song"), np.ones(2), LinearWeights(np.eye(2, dtype=np.float32), np.zeros(2, np.float32)))
    path = tmp_path_factory.mktemp("models") / "words"
    save_model(TfidfModel(head, label_space(["weather", "music"])), path)
    return path


class Process:
    """`phasefit serve` in its own process."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        command = [sys.executable, "-m", "phasefit", "serve", *arguments, "--port", "0", "--threads", "1"]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment, "COLUMNS": "200"}
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.url = self.wait_for(r"at (http://\S+?)/ ")

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def _read_lines(self) -> str:
        return "".join(self.lines)

    def wait_for(self, pattern: str, seconds: float = 120) -> str:
        """The first group, or the whole match, of a pattern in what it printed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if match := re.search(pattern, self._read_lines()):
                return match[match.re.groups]
            assert self.process.poll() is None, self._read_lines()
            time.sleep(0.02)
        raise AssertionError(f"{pattern} not in: {self._read_lines()}")

    def end(self) -> int:
        code = self.process.wait(60)
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


def test_a_process_reloads_drains_and_logs_no_text(folder: Path) -> None:
    process = Process(f"words={folder}", PHASEFIT_TOKEN="secret")
    try:
        headers = {"Authorization": "Bearer secret"}
        with httpx.Client(base_url=process.url, headers=headers) as client:
            assert httpx.get(f"{process.url}/health").status_code == 200
            assert httpx.get(f"{process.url}/info").status_code == 401
            content = {"input": ["rain please", "a song"]}
            rows = client.post("/v1/classify", json=content).json()["data"]
            assert [row["label"] for row in rows] == ["music", "weather"]  # in the order of the classes' names
            assert "no encoder" in client.post("/embed", json={"inputs": "a"}).json()["error"]
            manifest = folder / "phasefit.json"
            good = manifest.read_text()
            manifest.write_text("{")
            process.process.send_signal(signal.SIGHUP)
            process.wait_for("were not reloaded, and the current ones stay in use: .+")
            manifest.write_text(good)
            process.process.send_signal(signal.SIGHUP)
            process.wait_for("reloaded words")
            assert client.post("/v1/classify", json=content).status_code == 200
        process.process.send_signal(signal.SIGTERM)
        assert process.end() == 0
        printed = process._read_lines()
        assert "Traceback" not in printed
        assert "please" not in printed
    finally:
        process.process.kill()
        process.process.wait()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["missing"], "model 'missing': there is no folder 'missing'"),
        (["{folder}", "--batch-tokens", "9000", "--queue-tokens", "100"], "--queue-tokens 100 is less than"),
        (["{folder}", "--token", "two words"], "--token must be a text of ASCII"),
        (["{folder}", "--host", "no such host"], "cannot listen on no such host"),
        (["{folder}", "a={folder}", "a={folder}"], "two models have the name 'a'"),
        (["{folder}", "--device", "tpu"], "tpu"),
        (["{folder}", "--allow-host", "http://a"], "--allow-host 'http://a' is not the name of a host"),
        (["{folder}", "--training-texts", "--port", "0"], "has no encoder"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(folder: Path, arguments: list[str], part: str) -> None:
    from typer.testing import CliRunner

    from phasefit.cli.app import app

    given = [argument.format(folder=folder) for argument in arguments]
    result = CliRunner().invoke(app, ["serve", *given], prog_name="phasefit")
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_port_in_use_is_reported(folder: Path) -> None:
    from typer.testing import CliRunner

    from phasefit.cli.app import app

    with Address(port=0).bind() as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(app, ["serve", str(folder), "--port", port], prog_name="phasefit")
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1 port {port} (Address already in use)" in result.stderr


def test_a_missing_library_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from phasefit.cli.app import app

    monkeypatch.setattr("phasefit.serve.libraries.find_spec", lambda name: None if name == "uvicorn" else object())
    result = CliRunner().invoke(app, ["serve", str(folder)], prog_name="phasefit")
    assert result.exit_code == 2
    assert "phasefit serve needs uvicorn; install it with: pip install 'phasefit[serve]'" in result.stderr


def test_open_addresses() -> None:
    assert not Address("127.0.0.1").is_open
    assert not Address("::1").is_open
    assert Address("0.0.0.0").is_open


def test_the_body_of_an_answer_is_json(address: str) -> None:
    response = httpx.post(f"{address}/predict", json={"inputs": TEXTS[0]}, headers={"Authorization": "Bearer secret"})
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert json.loads(response.content)


def served(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Service:
    """The service that the command line asks for; it is not started."""
    from typer.testing import CliRunner

    from phasefit.cli.app import app

    services: list[Service] = []

    def run_server(service: Service, listener: socket.socket, report: Any) -> None:
        services.append(service)
        listener.close()

    monkeypatch.setattr("phasefit.serve.server.run_server", run_server)
    result = CliRunner().invoke(app, ["serve", *arguments, "--port", "0"], prog_name="phasefit")
    assert result.exit_code == 0, result.output
    return services[0]


def test_words_of_the_command_line_reach_the_service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {"default": "the vectors of training texts"}
    monkeypatch.setattr("phasefit.serve.explaining.read_training", lambda path, predictor: shown)
    options = ["--drain-seconds", "1.5", "--max-connections", "7", "--training-texts", "--no-explain"]
    service = served(monkeypatch, str(folder), *options)
    assert (service.limits.drain_seconds, service.limits.max_connections) == (1.5, 7)
    assert service.models.all[0].training == shown
    assert not service.explains
    assert served(monkeypatch, str(folder)).models.all[0].training == {}


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ([], ["evil.example", "models.example"]),
        (["--allow-host", "models.example"], ["evil.example"]),
        (["--token", "secret"], []),
        (["--token", "secret", "--allow-host", "models.example"], ["evil.example"]),
        (["--host", "0.0.0.0"], []),
    ],
)
def test_names_are_checked_unless_pages_cannot_reach_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], refused: list[str]
) -> None:
    service = served(monkeypatch, str(folder), *options)
    names = ["localhost", "evil.example", "models.example"]
    assert [name for name in names if not service.is_called([name.encode()])] == refused
