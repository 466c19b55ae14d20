"""The metrics of the server; the only file that imports prometheus_client."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
TOKENS = (16, 64, 256, 1024, 2048, 4096, 8192, 16_384, 65_536)
CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """Counters and histograms in their own registry, so that several servers fit into one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.responses = self._counter("responses", "Responses by endpoint and status.", ("endpoint", "status"))
        self.texts = self._counter("texts", "Texts that were computed.", ("model",))
        self.tokens = self._counter("tokens", "Tokens that were computed.", ("model",))
        self.reloads = self._counter("reloads", "Reloads of the models by result.", ("result",))
        self.queue_texts = self._gauge("queue_texts", "Texts that wait or are being computed.")
        self.queue_tokens = self._gauge("queue_tokens", "Estimated tokens of these texts.")
        self.batch_texts = self._histogram("batch_texts", "Texts per batch.", SIZES)
        self.batch_tokens = self._histogram("batch_tokens", "Tokens per batch.", TOKENS)
        self.tokenising = self._histogram(
            "tokenising_seconds", "Seconds to tokenise the texts taken from the queue; part of computing if unknown."
        )
        self.waiting = self._histogram("waiting_seconds", "Seconds from accepting a request until it is taken.")
        self.computing = self._histogram("computing_seconds", "Seconds to compute a batch.")
        self.responding = self._histogram("response_seconds", "Seconds from a request to its response.", SECONDS)

    def _counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        return Counter(f"phasefit_{name}", text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"phasefit_{name}", text, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...] = SECONDS) -> Histogram:
        return Histogram(f"phasefit_{name}", text, buckets=buckets, registry=self._registry)

    def text(self) -> bytes:
        """All of them in the format of Prometheus."""
        return generate_latest(self._registry)
