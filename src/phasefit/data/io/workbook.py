"""Excel files: one sheet, read as its CSV export would be: every cell is text, and an empty cell is an empty text.

Formulas count by their stored values, errors such as #N/A as empty, and blank rows are skipped. Links are not followed.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.io.workbook_check import DAMAGED, SheetSize, check_archive, scan_sheet
from phasefit.errors import DataError, MissingExtra, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

MOST_CHARACTERS = 300_000_000  # of a sheet


@dataclass(frozen=True)
class Sheet:
    """The content of a sheet, its name, how many sheets there are, and the rows of the sheet that hold the data."""

    frame: pd.DataFrame
    name: str
    sheets: int
    numbers: tuple[int, ...]  # counted from 1, as in a spreadsheet program


def read_sheet(path: Path, wanted: str | None) -> Sheet:
    """The sheet with this name, or the first visible one."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra("Excel files need openpyxl; install it: pip install 'phasefit[excel]'") from None
    check_archive(path)
    with path.open("rb") as file, warnings.catch_warnings(), _damage_reported(path):
        warnings.simplefilter("ignore")  # about features that do not matter here, such as validation of cells
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            sheet = _chosen(path, book, wanted)
            with sheet._get_source() as content:
                size = scan_sheet(path, sheet.title, content)
            if size.no_value is not None:
                raise DataError(
                    f"{path.name}, sheet '{sheet.title}', {size.no_value}: a formula without a stored value; open the "
                    "file in a spreadsheet program and save it"
                )
            frame, numbers = _frame(path, sheet, size)
            return Sheet(frame, sheet.title, len(book.worksheets), numbers)
        finally:
            book.close()


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    try:
        yield
    except (DataError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise DataError(f"{path.name} {DAMAGED}") from error


def _chosen(path: Path, book: Any, wanted: str | None) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if not sheets:
        raise DataError(f"{path.name} has no sheet with cells")
    if wanted is not None and wanted not in sheets:
        raise DataError(f"{path.name}: there is no sheet '{wanted}'; {did_you_mean(wanted, sheets)}")
    visible = [name for name, sheet in sheets.items() if sheet.sheet_state == "visible"]
    return sheets[wanted if wanted is not None else (visible or list(sheets))[0]]


def _frame(path: Path, sheet: Any, size: SheetSize) -> tuple[pd.DataFrame, tuple[int, ...]]:
    """The rows after the header, which is the first row with a value; columns without a name must be empty."""
    import pandas as pd

    where = f"{path.name}, sheet '{sheet.title}'"
    sheet.reset_dimensions()  # files may state a smaller size than they have
    rows = (
        (number, cells)
        for number, row in enumerate(sheet.iter_rows(max_col=size.columns or 1), start=1)
        if any(cells := [_text(cell) for cell in row])
    )
    header_row, names = next(rows, (0, []))
    if not names:
        raise DataError(f"{where} is empty")
    named = [place for place, name in enumerate(names) if name.strip()]
    columns: list[list[str]] = [[] for _ in named]
    numbers: list[int] = []
    characters = 0
    for number, cells in rows:
        characters += sum(map(len, cells))
        if characters > MOST_CHARACTERS:  # a small file may use one long text in every row
            raise DataError(f"{where} has more than {MOST_CHARACTERS:,} characters; save it as CSV")
        for column, place in zip(columns, named, strict=True):
            column.append(cells[place])
        unnamed = next((place for place, cell in enumerate(cells) if cell.strip() and not names[place].strip()), None)
        if unnamed is not None:
            raise DataError(
                f"{where}, row {len(numbers) + 1} (sheet row {number}): column {_letters(unnamed + 1)} has a value but "
                f"no name; name it in sheet row {header_row}, or clear it"
            )
        numbers.append(number)
    if not numbers:
        raise DataError(f"{where} has no rows, only a header")
    kept = [names[place] for place in named]
    twice = next((name for name in kept if kept.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{where}: two columns are named '{twice}'; rename one")
    series = {name: pd.Series(column, dtype="str") for name, column in zip(kept, columns, strict=True)}
    return pd.DataFrame(series), tuple(numbers)


def _text(cell: Any) -> str:
    """The value of a cell as text, as a CSV export writes it; dates as 2024-12-31."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, str):
        return value.replace("_x000D_", "\r")  # how Excel writes a carriage return
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):  # 1.0 is 1, and digits beyond the 15 that Excel keeps are noise
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return letters
