"""Numbers that grow chunk by chunk: in memory while they are few, then in a file that is mapped into it."""

from __future__ import annotations

import tempfile
from array import array
from typing import IO

import numpy as np

from phasefit.errors import DataError

IN_MEMORY = 64_000_000  # numbers of four bytes


class GrowingNumbers:
    """32-bit numbers; the file has no name and goes with the last array that shows it, also when the run is killed."""

    def __init__(self) -> None:
        self._held = array("i")
        self._file: IO[bytes] | None = None
        self._size = 0

    def append(self, numbers: np.ndarray) -> None:
        """Add numbers behind those that are there."""
        self._size += len(numbers)
        if self._file is None and self._size <= IN_MEMORY:
            self._held.frombytes(numbers.astype(np.int32, copy=False).tobytes())  # grows in place: held once
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="phasefit-tokens-")  # noqa: SIM115 - closed when mapped
                self._file.write(self._held)
                self._held = array("i")
            self._file.write(numbers.astype(np.int32, copy=False).tobytes())
        except OSError as error:
            raise _no_room(error) from error

    def finish(self) -> np.ndarray:
        """All of them as one array."""
        if self._file is None:
            return np.asarray(self._held)
        try:
            self._file.flush()
            return np.asarray(np.memmap(self._file, dtype=np.int32, mode="r", shape=(self._size,)))
        except OSError as error:
            raise _no_room(error) from error
        finally:
            self._file.close()  # the map holds a handle of its own


def _no_room(error: OSError) -> DataError:
    return DataError(
        f"the tokens of this table do not fit into the folder for temporary files, {tempfile.gettempdir()} "
        f"({error.strerror}); make room there, or name another folder in the environment variable TMPDIR"
    )
