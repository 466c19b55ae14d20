"""Texts of a large table: in a temporary file, used like a list.

Memory holds where each text starts, and which texts a part of the table has: eight bytes per row each.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import index
from threading import Lock
from typing import IO, overload

import numpy as np

from phasefit.errors import DataError

AT_ONCE = 8_192  # texts that are read together
GAPS = 16  # texts are read one by one if what lies between them is more than this many times their own size
NEAR = 1 << 16  # bytes that are read at once, whatever lies between the texts


class _File:
    """A temporary file and where each of its texts starts; it has no name, so it disappears even if a run is killed."""

    def __init__(self) -> None:
        self.starts, self._lock = np.zeros(1, dtype=np.int64), Lock()
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="phasefit-texts-")  # noqa: SIM115 - see __del__

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def write(self, content: bytes) -> None:
        """Append bytes."""
        self._file.write(content)

    def finish(self, lengths: Sequence[np.ndarray]) -> None:
        """End writing; `lengths` are the bytes of all texts."""
        self._file.flush()
        self.starts = np.zeros(sum(map(len, lengths)) + 1, dtype=np.int64)
        end = 0
        for some in lengths:
            np.cumsum(some, out=self.starts[end + 1 : end + 1 + len(some)])
            self.starts[end + 1 : end + 1 + len(some)] += self.starts[end]
            end += len(some)

    def read(self, numbers: np.ndarray) -> list[str]:
        """The texts with these numbers."""
        if not len(numbers):
            return []
        begins, ends = self.starts[numbers], self.starts[numbers + 1]
        first, last = int(begins.min()), int(ends.max())
        if last - first > max(GAPS * int((ends - begins).sum()), NEAR):
            return [self._bytes(begin, end).decode() for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        content = self._bytes(first, last)
        spans = zip((begins - first).tolist(), (ends - first).tolist(), strict=True)
        return [content[begin:end].decode() for begin, end in spans]

    def _bytes(self, begin: int, end: int) -> bytes:
        with self._lock:
            self._file.seek(begin)
            return self._file.read(end - begin)


class StoredTexts(Sequence[str]):
    """Texts of a temporary file; `numbers` are those of its texts that belong to this table, by default all."""

    def __init__(self, file: _File, numbers: np.ndarray | None = None) -> None:
        self._file, self._numbers = file, numbers

    def __len__(self) -> int:
        return len(self._file.starts) - 1 if self._numbers is None else len(self._numbers)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return self._file.read(self._of(np.arange(*row.indices(len(self)))))
        return self._file.read(self._of(np.array([_inside(row, len(self))])))[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), AT_ONCE):
            yield from self[start : start + AT_ONCE]

    def take(self, rows: np.ndarray) -> StoredTexts:
        """The texts of these rows, in this order; nothing is copied."""
        return StoredTexts(self._file, self._of(rows))

    def _of(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._numbers is None else self._numbers[rows]


class TextWriter:
    """Collects texts in a temporary file."""

    def __init__(self) -> None:
        with _room():
            self._file = _File()
        self._lengths: list[np.ndarray] = []

    def append(self, texts: Iterable[str]) -> None:
        """Append texts."""
        encoded = [text.encode() for text in texts]
        self._lengths.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        with _room():
            self._file.write(b"".join(encoded))

    def finish(self) -> StoredTexts:
        """All texts."""
        with _room():
            self._file.finish(self._lengths)
        self._lengths = []
        return StoredTexts(self._file)


class JoinedTexts(Sequence[str]):
    """Several sequences of texts, one after the other, without a copy."""

    def __init__(self, parts: Iterable[Sequence[str]] = ()) -> None:
        self._parts: list[Sequence[str]] = []
        self._starts = [0]
        for part in parts:
            self.extend(part)

    def extend(self, texts: Sequence[str]) -> None:
        """Add texts at the end."""
        if len(texts):
            self._parts.append(texts)
            self._starts.append(len(self) + len(texts))

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if not isinstance(row, slice):
            number = _inside(row, len(self))
            which = bisect_right(self._starts, number) - 1
            return self._parts[which][number - self._starts[which]]
        first, last, step = row.indices(len(self))
        if step != 1:
            return [self[one] for one in range(first, last, step)]
        texts: list[str] = []
        for start, part in zip(self._starts, self._parts, strict=False):
            if first < start + len(part) and last > start:
                texts += part[max(first - start, 0) : last - start]
        return texts

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield from part


class ChosenTexts(Sequence[str]):
    """Some of the texts of a sequence, without a copy."""

    def __init__(self, texts: Sequence[str], rows: np.ndarray) -> None:
        self._texts, self._rows = texts, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self._texts[one] for one in self._rows[row].tolist()]
        return self._texts[int(self._rows[row])]


def join_texts(parts: Sequence[Sequence[str]]) -> Sequence[str]:
    """All texts as one sequence: a list, unless some of them are in a file."""
    if any(isinstance(part, StoredTexts | JoinedTexts) for part in parts):
        return JoinedTexts(parts)
    return [text for part in parts for text in part]


def _inside(row: int, size: int) -> int:
    """The row counted from the start; IndexError if there is none."""
    number = index(row)
    if not -size <= number < size:
        raise IndexError(f"there is no text {number} of {size}")
    return number + size if number < 0 else number


@contextmanager
def _room() -> Iterator[None]:
    """Report a full disk."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the texts of this table do not fit into the folder for temporary files, {tempfile.gettempdir()} "
            f"({error.strerror}); free some space, or set the environment variable TMPDIR to another folder"
        ) from error
