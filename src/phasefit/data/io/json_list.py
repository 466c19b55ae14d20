"""JSON files: a list of objects. Objects are read one by one, so that errors name the row and its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from phasefit.data.io.encodings import TextFile
from phasefit.data.io.files import START, refuse_other_content
from phasefit.data.io.jsonl import checked_object, frame_of, reason
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

NEWLINE = b"\n"
_SPACE = re.compile(r"[ \t\r\n]*")


def is_list(file: TextFile) -> bool:
    """Whether the file starts like a JSON list; JSON Lines start with an object."""
    with file.open() as content:
        start = content.read(START)
        while start and not start.lstrip(b"\xef\xbb\xbf \t\r\n"):
            start = content.read(START)
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def read_list(file: TextFile) -> pd.DataFrame:
    """A frame with one column per key; a missing key becomes None."""
    refuse_other_content(file.path)
    return frame_of(file, _objects(file, _text(file)))


def _objects(file: TextFile, text: str) -> Iterator[dict[str, Any]]:
    """The objects in the list, checked; lines are counted from the object before."""
    line, counted = 1, 0
    for row, (start, value) in enumerate(_elements(file, text), 1):
        line, counted = line + text.count("\n", counted, start), start
        yield checked_object(value, f"{file.name}, row {row} (line {line})")


def line_of_row(file: TextFile, row: int) -> int | None:
    """The line of the file where this object (0-based) starts."""
    text = _text(file)
    start = next((start for index, (start, _) in enumerate(_elements(file, text)) if index == row), None)
    return None if start is None else text.count("\n", 0, start) + 1


def _text(file: TextFile) -> str:
    with file.open() as content:
        data = content.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise file.invalid(f"line {data.count(NEWLINE, 0, error.start) + 1}") from None


def _elements(file: TextFile, text: str) -> Iterator[tuple[int, Any]]:
    """The values in the list, each with its position in the text."""
    decoder = json.JSONDecoder()
    place, row = _after_space(text, _after_space(text, 0) + 1), 1
    if text[place : place + 1] == "]":
        place = _after_space(text, place + 1)
    else:
        while True:
            try:
                value, end = decoder.raw_decode(text, place)
            except (ValueError, RecursionError) as error:
                raise _not_json(file, text, place, row, reason(error)) from None
            yield place, value
            end = _after_space(text, end)
            mark, place, row = text[end : end + 1], _after_space(text, end + 1), row + 1
            if mark == "]":
                break
            if mark != ",":
                raise _not_json(file, text, end, row, "Expecting ',' or ']'")
    if place < len(text):
        raise _not_json(file, text, place, row, "text after the end of the list")


def _not_json(file: TextFile, text: str, place: int, row: int, why: str) -> DataError:
    line = text.count("\n", 0, place) + 1
    return DataError(f"{file.name}, row {row} (line {line}): not valid JSON ({why}); give a list of objects")


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match is not None else place
