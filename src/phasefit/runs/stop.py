"""Control-C and SIGTERM while a run is on: a training step is finished and saved first, anything else stops at once."""

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
    """Listens for signals between entering and leaving; only a process's main thread can."""

    def __init__(self) -> None:
        self.asked: int | None = None  # the signal that came while stopping was held back
        self._held = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Whoever holds a signal back must look at `asked` now and then; a second signal is not held back."""
        self._held = True
        try:
            yield
        except RuntimeError as error:
            if self.asked is None or isinstance(error, PhasefitError) or not has_others():
                raise
            # Another process heard the signal a moment earlier and has gone: what this one waited for never came.
            raise Interrupted(signal=self.asked) from error
        finally:
            self._held = False
        if self.asked is not None:
            raise Interrupted(signal=self.asked)

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self._held and self.asked is None:
            self.asked = number
            return
        raise Interrupted(signal=number)
