"""An array of numbers that grows chunk by chunk: in memory while it is small, then in a memory-mapped file."""

from __future__ import annotations

import tempfile
from array import array
from typing import IO

import numpy as np

from phasefit.errors import DataError

IN_MEMORY = 64_000_000  # numbers of four bytes


class GrowingNumbers:
    """32-bit numbers; the file has no name and disappears with the last array that maps it, even if a run is killed."""

    def __init__(self) -> None:
        self._in_memory = array("i")
        self._file: IO[bytes] | None = None
        self._size = 0

    def append(self, numbers: np.ndarray) -> None:
        """Append numbers."""
        self._size += len(numbers)
        if self._file is None and self._size <= IN_MEMORY:
            self._in_memory.frombytes(numbers.astype(np.int32, copy=False).tobytes())  # grows in place, without a copy
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="phasefit-tokens-")  # noqa: SIM115 - closed when mapped
                self._file.write(self._in_memory)
                self._in_memory = array("i")
            self._file.write(numbers.astype(np.int32, copy=False).tobytes())
        except OSError as error:
            raise _no_room(error) from error

    def finish(self) -> np.ndarray:
        """All numbers as one array."""
        if self._file is None:
            return np.asarray(self._in_memory)
        try:
            self._file.flush()
            return np.asarray(np.memmap(self._file, dtype=np.int32, mode="r", shape=(self._size,)))
        except OSError as error:
            raise _no_room(error) from error
        finally:
            self._file.close()  # the memory map has its own handle


def _no_room(error: OSError) -> DataError:
    return DataError(
        f"the tokens of this table do not fit into the folder for temporary files, {tempfile.gettempdir()} "
        f"({error.strerror}); free some space, or set the environment variable TMPDIR to another folder"
    )
