"""Control-C and SIGTERM during a run: a training step is finished and saved first, anything else stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from phasefit.errors import Interrupted, PhasefitError
from phasefit.runs.processes import has_others

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Handles signals inside a `with` block; works only in the main thread."""

    def __init__(self) -> None:
        self.pending: int | None = None  # the signal that arrived while stopping was deferred
        self._deferred = False
        self._raised: int | None = None  # the signal that stopped the run at once
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Stop if a signal arrived where its exception was lost: some libraries swallow errors on import."""
        if self._raised is not None:
            raise Interrupted(signal=self._raised)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Defer the first signal: the block must check `pending` regularly. A second signal stops at once."""
        self.check()
        self._deferred = True
        try:
            yield
        except RuntimeError as error:
            if self.pending is None or isinstance(error, PhasefitError) or not has_others():
                raise
            # Another process received the signal earlier and has exited, so the exchange with it failed.
            raise Interrupted(signal=self.pending) from error
        finally:
            self._deferred = False
        if self.pending is not None:
            raise Interrupted(signal=self.pending)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._deferred and self.pending is None:
            self.pending = number
            return
        self._raised = number
        raise Interrupted(signal=number)
