"""JSON Lines: one object per line; values keep their JSON types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.io.files import open_bytes, refuse_other_content
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_jsonl(path: Path) -> pd.DataFrame:
    """A frame with one column per key; a missing key becomes None."""
    import pandas as pd

    refuse_other_content(path)
    columns: dict[str, list[Any]] = {}
    count = 0
    for number, line in _lines(path):
        for key, value in _object(line, path, number).items():
            column = columns.setdefault(key, [])
            column.extend([None] * (count - len(column)))
            column.append(value)
        count += 1
    if not count:
        raise DataError(f"{path.name} is empty")
    if not columns:
        raise DataError(f"{path.name}: all objects are empty; give them keys such as text and label")
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return pd.DataFrame({key: _series(column) for key, column in columns.items()}, index=range(count))


def line_of_row(path: Path, row: int) -> int | None:
    """The line of the file with this data row (0-based)."""
    return next((number for index, (number, _) in enumerate(_lines(path)) if index == row), None)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield number, line


def _object(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise DataError(f"{path.name}, line {number}: invalid UTF-8; save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "a number is too long or the nesting too deep")
        raise DataError(f"{path.name}, line {number}: not valid JSON ({reason}); give one object per line") from None
    if not isinstance(value, dict):
        kind = KINDS.get(type(value), "null")
        example = '{"text": ..., "label": ...}'
        raise DataError(f"{path.name}, line {number}: expected a JSON object such as {example}, found {kind}")
    if _SURROGATE.search(line):
        _refuse_surrogates(value, path, number)
    return value


def _refuse_surrogates(record: dict[str, Any], path: Path, number: int) -> None:
    """DataError for lone surrogates: JSON can contain them, but they cannot be printed or written."""
    for key, value in record.items():
        try:
            json.dumps([key, value], ensure_ascii=False).encode()
        except UnicodeEncodeError:
            name = key.encode(errors="replace").decode()
            where = f"{path.name}, line {number}: '{name}'"
            raise DataError(f"{where} contains a lone surrogate (an incomplete character); fix or remove it") from None


def _series(values: list[Any]) -> pd.Series[Any]:
    """Text columns with pandas' compact text type, all others as objects (in a column with null, 3 stays 3)."""
    import pandas as pd

    if all(type(value) is str for value in values):
        return pd.Series(values, dtype="str")
    return pd.Series(values, dtype=object)
