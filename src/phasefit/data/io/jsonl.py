"""JSON Lines: one object per line; values keep their JSON types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from phasefit.data.io.encodings import TextFile
from phasefit.data.io.files import refuse_other_content
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_jsonl(file: TextFile) -> pd.DataFrame:
    """A frame with one column per key; a missing key becomes None."""
    refuse_other_content(file.path)
    return frame_of(file, (read_object(line, file, number) for number, line in _lines(file)))


def frame_of(file: TextFile, records: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """The frame of these objects."""
    import pandas as pd

    columns: dict[str, list[Any]] = {}
    count = 0
    for record in records:
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column.extend([None] * (count - len(column)))
            column.append(value)
        count += 1
    if not count:
        raise DataError(f"{file.name} is empty")
    if not columns:
        raise DataError(f"{file.name}: all objects are empty; give them keys such as text and label")
    for column in columns.values():
        column.extend([None] * (count - len(column)))
    return pd.DataFrame({key: as_series(column) for key, column in columns.items()}, index=range(count))


def line_of_row(file: TextFile, row: int) -> int | None:
    """The line of the file with this data row (0-based)."""
    return next((number for index, (number, _) in enumerate(_lines(file)) if index == row), None)


def _lines(file: TextFile) -> Iterator[tuple[int, bytes]]:
    with file.open() as content:
        for number, line in enumerate(content, start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if line.strip():
                yield number, line


def read_object(line: bytes, file: TextFile, number: int) -> dict[str, Any]:
    """The object in a line; DataError if the line holds anything else."""
    where = f"{file.name}, line {number}"
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise file.invalid(f"line {number}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({reason(error)}); give one object per line") from None
    return checked_object(value, where, has_surrogates=_SURROGATE.search(line) is not None)


def reason(error: Exception) -> str:
    """Why a text is not JSON."""
    return str(getattr(error, "msg", "a number is too long or the nesting too deep"))


def checked_object(value: Any, where: str, has_surrogates: bool = True) -> dict[str, Any]:
    """The object; DataError for other values and for lone surrogates."""
    if not isinstance(value, dict):
        kind = KINDS.get(type(value), "null")
        example = '{"text": ..., "label": ...}'
        raise DataError(f"{where}: expected a JSON object such as {example}, found {kind}")
    if has_surrogates:
        _refuse_surrogates(value, where)
    return value


def _refuse_surrogates(record: dict[str, Any], where: str) -> None:
    """DataError for lone surrogates: JSON can contain them, but they cannot be printed or written."""
    for key, value in record.items():
        try:
            json.dumps([key, value], ensure_ascii=False).encode()
        except UnicodeEncodeError:
            name = key.encode(errors="replace").decode()
            raise DataError(
                f"{where}: '{name}' contains a lone surrogate (an incomplete character); fix or remove it"
            ) from None


def as_series(values: list[Any]) -> pd.Series[Any]:
    """Text columns with pandas' compact text type, all others as objects (in a column with null, 3 stays 3)."""
    import pandas as pd

    if all(type(value) is str for value in values):
        return pd.Series(values, dtype="str")
    return pd.Series(values, dtype=object)
