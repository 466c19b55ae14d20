"""The process of a contestant of `deploy.py`, as seen by the benchmark."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

MOST = 200  # characters of an error in the table


class WorkerFailedError(Exception):
    """The process ended instead of answering; the message is its last line."""


class Worker:
    """A process that answers JSON lines; see `deploy_worker.py`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`; a pipe that nobody reads could fill up)
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(environment),
            encoding="utf-8",
        )

    def ask(self, do: str, texts: Sequence[str] = ()) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, "texts": list(texts)}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._failed() from error
        line = self._process.stdout.readline()
        if not line:
            raise self._failed()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the process: its input ends, so it does too."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:  # it had ended, with a request unread
                continue
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _failed(self) -> WorkerFailedError:
        code = self._process.wait()
        self._errors.seek(0)
        return WorkerFailedError(last_line(self._errors.read().decode(errors="replace")) or f"exit code {code}")


def last_line(output: str) -> str:
    """The last line of what a program wrote: usually the error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:MOST].replace("|", "/") if lines else ""  # a bar would end a cell of the table
