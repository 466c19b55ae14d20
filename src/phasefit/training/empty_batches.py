"""Batches that taught nothing: objectives warn about each, a user hears of every reason once per phase."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from phasefit.events import Note
from phasefit.objectives import NothingToLearn


class EmptyBatchWarnings:
    """Collects the warnings of the blocks that it listens to."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._reported: set[str] = set()
        self._fresh: list[str] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear what objectives warn about in the block; other warnings go their way."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NothingToLearn)
            yield
        for warning in caught:
            message = str(warning.message)
            if not issubclass(warning.category, NothingToLearn):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
            elif message not in self._reported:
                self._reported.add(message)
                self._fresh.append(message)

    def notes(self) -> Iterator[Note]:
        """Warnings that have not been reported yet."""
        fresh, self._fresh = self._fresh, []
        for message in fresh:
            yield Note(f"{self._phase}: {message} (said once)", warning=True)
