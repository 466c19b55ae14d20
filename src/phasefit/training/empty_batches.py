"""Batches without anything to learn: objectives warn about each batch, a user gets each warning once per phase."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from phasefit.events import Note
from phasefit.objectives import NothingToLearn


class EmptyBatchWarnings:
    """Collects the warnings of objectives and reports each once."""

    def __init__(self, phase: str) -> None:
        self._phase = phase
        self._reported: set[str] = set()
        self._fresh: list[str] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the warnings of objectives in the block; other warnings are issued as usual."""
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
            yield Note(f"{self._phase}: {message} (further warnings suppressed)", warning=True)
