"""Plain text files: one text per line; blank lines are skipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.data.io.encodings import TextFile
from phasefit.data.io.files import refuse_other_content
from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

ENDING = ".txt"
COLUMN = "text"


def is_lines(path: Path) -> bool:
    """Whether a file holds plain lines, by its extension."""
    return path.name.lower().removesuffix(".gz").endswith(ENDING)


def read_lines(file: TextFile) -> pd.DataFrame:
    """A frame with one column, `text`."""
    import pandas as pd

    refuse_other_content(file.path)
    texts = [line for line in _lines(file) if line.strip()]
    if not texts:
        raise DataError(f"{file.name} is empty")
    return pd.DataFrame({COLUMN: pd.Series(texts, dtype=object)})


def line_of_row(file: TextFile, row: int) -> int | None:
    """The line of the file with this text (0-based)."""
    non_blank = (number for number, line in enumerate(_lines(file), start=1) if line.strip())
    return next((number for index, number in enumerate(non_blank) if index == row), None)


def _lines(file: TextFile) -> list[str]:
    """All lines; not with splitlines, because a text may contain a form feed or U+2028."""
    with file.open() as content:
        data = content.read()
    try:
        whole = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise file.invalid(f"line {line}") from None
    if "\0" in whole:
        line = whole.count("\n", 0, whole.index("\0")) + 1
        raise DataError(f"{file.name}, line {line}: a NUL character; the file is damaged or not a text file")
    return whole.replace("\r\n", "\n").split("\n")
