"""The encoding of a text file, and files in other encodings as UTF-8, so that each reader knows only UTF-8."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from phasefit.data.io.dialect import UTF_8, encoding_words
from phasefit.data.io.files import START, InvalidEncoding, open_bytes

# Byte order marks; UTF-32 comes first because its mark starts like that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
WINDOWS = "cp1252"  # Latin-1 and the curly quotes and dashes of Windows
CHUNK = 1 << 16
INVALID = "phasefit-invalid"  # the name of the error handler
LETTERS = bytes(range(0x41, 0x5B)) + bytes(range(0x61, 0x7B))
NOT_HIGH = bytes(range(0x80))
_UTF_8_CHARACTERS = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_NOT_WINDOWS = re.compile(rb"[\0-\x08\x0b\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
# Symbols inside a word: in Windows-1250 and others, these bytes are letters.
_SYMBOL_IN_WORD = re.compile(rb"[A-Za-z][\xa1-\xac\xae-\xb4\xb6\xb8\xb9\xbb-\xbf](?=[A-Za-z])")


def unicode_encoding(path: Path) -> str:
    """UTF-16 or UTF-32 if the file starts with its mark or looks like it, else UTF-8."""
    with open_bytes(path) as file:
        start = file.read(START)
    marked = next((name for mark, name in MARKS.items() if start.startswith(mark)), None)
    return marked or _with_nul_bytes(start) or UTF_8


def legacy_encoding(path: Path) -> str | None:
    """Windows-1252 if a file that is not UTF-8 can hardly be anything else; None if that is open.

    It is open if the file has bytes that Windows-1252 lacks, if it also has characters of UTF-8 (a damaged file), if
    most letters are not ASCII (another script), or if symbols stand inside words (another set of accented letters).
    """
    high = letters = characters = symbols = 0
    with open_bytes(path) as file:
        while chunk := file.read(CHUNK):
            if _NOT_WINDOWS.search(chunk):
                return None
            high += len(chunk.translate(None, NOT_HIGH))
            letters += len(chunk) - len(chunk.translate(None, LETTERS))
            characters += len(_UTF_8_CHARACTERS.findall(chunk))
            symbols += len(_SYMBOL_IN_WORD.findall(chunk))
    plausible = high and characters * 10 <= high and symbols * 20 <= high and high * 10 <= 3 * (high + letters)
    return WINDOWS if plausible else None


@dataclass(frozen=True)
class TextFile:
    """A text file and its encoding."""

    path: Path
    encoding: str = UTF_8

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return self.path.name

    def open(self) -> IO[bytes]:
        """The file as UTF-8; bytes that are invalid in its encoding are invalid in UTF-8 too."""
        file = open_bytes(self.path)
        if self.encoding == UTF_8:
            return file
        encoding = self.encoding if self.encoding not in MARKS.values() else _with_byte_order(self.path, self.encoding)
        return cast(IO[bytes], io.BufferedReader(_AsUtf8(file, encoding)))

    def invalid(self, place: str) -> InvalidEncoding:
        """The error for a place that is invalid in the encoding."""
        name = encoding_words(self.encoding)
        return InvalidEncoding(
            f"{self.name}, {place}: invalid {name}; save the file as UTF-8, or name its encoding with --encoding"
        )


class _AsUtf8(io.RawIOBase):
    def __init__(self, file: IO[bytes], encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)(INVALID)
        self._pending = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        while not self._pending and not self._ended:
            chunk = self._file.read(CHUNK)
            self._ended = not chunk
            self._pending = self._decoder.decode(chunk, self._ended).encode(UTF_8, INVALID)
        part = self._pending[: len(buffer)]
        buffer[: len(part)] = part
        self._pending = self._pending[len(part) :]
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def _mark_invalid(error: UnicodeError) -> tuple[str | bytes, int]:
    """Decoding turns invalid bytes into a lone surrogate, encoding turns that into an invalid byte."""
    if isinstance(error, UnicodeDecodeError):
        return "\udc80", error.end
    if isinstance(error, UnicodeEncodeError):
        return b"\x80", error.end
    raise error


codecs.register_error(INVALID, _mark_invalid)


def _with_byte_order(path: Path, encoding: str) -> str:
    """UTF-16 or UTF-32 as it is if the file starts with its mark; otherwise with the byte order of the file."""
    with open_bytes(path) as file:
        start = file.read(START)
    if any(start.startswith(mark) for mark, name in MARKS.items() if name == encoding):
        return encoding
    found = _with_nul_bytes(start) or ""
    return found if found.startswith(encoding) else f"{encoding}-le"


def _with_nul_bytes(start: bytes) -> str | None:
    """UTF-16 without a mark: Latin letters have NUL as every second byte, and few characters have it as the other."""
    first, second = start[::2], start[1::2]
    for one, other, name in ((first, second, "utf-16-be"), (second, first, "utf-16-le")):
        if len(one) > 2 and one.count(0) * 2 > len(one) and other.count(0) * 8 <= one.count(0):
            return name
    return None
