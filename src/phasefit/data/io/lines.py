"""Plain text files: one text per line; blank lines are skipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.data.io.files import open_bytes, refuse_other_content
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

ENDING = ".txt"
COLUMN = "text"


def is_lines(path: Path) -> bool:
    """Whether a file holds plain lines, by its extension."""
    return path.name.lower().removesuffix(".gz").endswith(ENDING)


def read_lines(path: Path) -> pd.DataFrame:
    """A frame with one column, `text`."""
    import pandas as pd

    refuse_other_content(path)
    texts = [line for line in _lines(path) if line.strip()]
    if not texts:
        raise DataError(f"{path.name} is empty")
    return pd.DataFrame({COLUMN: pd.Series(texts, dtype=object)})


def line_of_row(path: Path, row: int) -> int | None:
    """The line of the file with this text (0-based)."""
    non_blank = (number for number, line in enumerate(_lines(path), start=1) if line.strip())
    return next((number for index, number in enumerate(non_blank) if index == row), None)


def _lines(path: Path) -> list[str]:
    """All lines; not with splitlines, because a text may contain a form feed or U+2028."""
    with open_bytes(path) as file:
        data = file.read()
    try:
        whole = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path.name}, line {line}: invalid UTF-8; save the file as UTF-8") from None
    if "\0" in whole:
        line = whole.count("\n", 0, whole.index("\0")) + 1
        raise DataError(f"{path.name}, line {line}: a NUL character; the file is damaged or not a text file")
    return whole.replace("\r\n", "\n").split("\n")
