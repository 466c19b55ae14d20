"""Tables: what phasefit reads must be what csv, pandas and DuckDB read, wherever those agree."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
import re
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fuzz.edits import draw_edits
from fuzz.harness import Case, Target, WrongResult
from wild import WORDS

if TYPE_CHECKING:
    from phasefit.data.io.dialect import Dialect

FORMS = (
    *("csv", "tsv", "jsonl", "parquet", "txt", "csv.gz", "tsv.gz", "jsonl.gz", "parquet.gz", "txt.gz", "json"),
    *("csv;", "csv|", "csv\t", "tsv;", "csv.gz;", "json.gz", "xlsx", "xlsx/", "xlsx/"),
    *("csv~cp1252", "csv;~cp1252", "txt~cp1252", "csv~utf-16", "csv;~utf-16-le", "jsonl~utf-16-be", "json~cp1252"),
)
"""An ending, then the delimiter if it is unusual, then ~ and the encoding. `xlsx/` is a workbook whose parts are edited
before they are zipped."""
TABLES = 100  # different tables of each form
WESTERN = ["café", "naïve", "schön", "“quoted”", "5 €", "plain words", "größer – als", "don’t", "a,b", "x;y", 'say "x"']
LABELS = ["good", "bad", "1", "0", "1.5", "a|b", "['a', 'b']", "", "NA", "x/y", "é", "-", "nan", "1e400"]
Cells = list[list[Any]]


class Tables(Target):
    """Files of every supported form, whole and damaged."""

    name: ClassVar[str] = "tables"

    def draw(self, random: random.Random) -> Case:
        form = random.choice(FORMS)
        base = f"{random.randrange(TABLES)}.{form.replace('/', '%')}"
        folder = self.base(base)
        files = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
        file = random.choice(files)
        data = (folder / file).read_bytes()
        edits = [] if random.random() < 0.2 else draw_edits(random, data, "bytes")
        return Case(self.name, base, file, "bytes", edits)

    def base(self, name: str) -> Path:
        folder = self.bases / name
        if folder.is_dir():
            return folder
        folder.mkdir()
        number, _, form = name.partition(".")
        if number == BOMB:
            (folder / "table.xlsx").write_bytes(BOMBS[form]())
            return folder
        data, ending = written(int(number), form.removesuffix("%")), _ending(form)
        if form.endswith("%"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                archive.extractall(folder)
        else:
            (folder / f"table.{ending}").write_bytes(data)
        return folder

    def execute(self, folder: Path, case: Case) -> None:
        number, _, form = case.base.partition(".")
        with tempfile.TemporaryDirectory() as elsewhere:
            path = folder / case.file
            if form.endswith("%"):
                path = zipped(folder, Path(elsewhere) / "table.xlsx")
            if number == BOMB:
                self.read(path, None)
                raise WrongResult("a bomb was read")
            self.read(path, None if case.edits else cells_of(int(number), form))

    def read(self, path: Path, intact: Cells | None) -> None:
        """Read and compare with other readers in the same dialect; `intact` are the cells of a file without edits."""
        from phasefit.data.io.dialect import Dialect
        from phasefit.data.io.frames import read_file
        from phasefit.data.sources import read_table
        from phasefit.errors import PhasefitError

        try:
            content = read_file(path)
        except PhasefitError as error:
            if intact is not None:
                raise WrongResult(f"an intact table was refused: {error}") from None
            raise
        frame, dialect = content.frame, content.reading.dialect
        read = [[str(name) for name in frame.columns], *([*row] for row in frame.itertuples(index=False))]
        usual = "\t" if _kind(path) == "tsv" else ","
        if dialect.delimiter not in (None, usual):
            comma = with_csv(path, Dialect(usual, dialect.encoding))
            if comma is not None and len(comma) > 1 and len(comma[0]) > 1:
                raise WrongResult(f"assumed {dialect.delimiter!r} although {usual!r} fits")
        references = [one for one in (reader(path, dialect) for reader in READERS[_kind(path)]) if one is not None]
        agreed = references and all(_same(reference, references[0]) for reference in references)
        if agreed and not _same(read, references[0]):
            raise WrongResult(f"read {_first_difference(read, references[0])}")
        if intact is not None and not _same(read, intact):
            raise WrongResult(f"read {_first_difference(read, intact)}")
        table = read_table(path, need_labels=False, sides="any", empty="keep")
        if len(table.texts) != len(frame):
            raise WrongResult(f"{len(table.texts)} texts of {len(frame)} rows")


def _kind(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2]


def _ending(form: str) -> str:
    return re.match(r"[a-z.]+", form)[0]  # type: ignore[index]


def zipped(folder: Path, path: Path) -> Path:
    """A zip file of everything below a folder."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder))
    return path


def rows_of(number: int, form: str) -> tuple[list[dict[str, Any]], random.Random]:
    """The rows of a table, with texts that real tables contain, and some that they hopefully never will."""
    draw = random.Random(f"table {number}")
    words = [
        *(word.replace("LONG", "x" * 300).replace("\0", "") for word in WORDS),
        "song",
        "rain",
        "a,b",
        'say "x"',
        "don't",
    ]
    labels = LABELS
    if "cp1252" in form:
        words, labels = WESTERN, LABELS[:4]
    if form.startswith("xlsx"):  # XML has no control characters, and reads a carriage return as a line feed
        words = ["".join(letter for letter in word if letter.isprintable()) + "." for word in words]
        words = [word for word in words if "_x" not in word]
    return [
        {
            "text": " ".join(draw.choices(words, k=draw.randint(1, 5))) + "x",
            "label": draw.choice(LABELS[:2]),
            "n": draw.choice(labels),
        }
        for _ in range(draw.randint(1, 8))
    ], draw


def cells_of(number: int, form: str) -> Cells | None:
    """The cells of an intact table; None for forms whose readers are compared with others only."""
    if _ending(form).removesuffix(".gz") not in ("csv", "tsv", "xlsx"):
        return None
    rows, _ = rows_of(number, form)
    return [["text", "label", "n"], *([*row.values()] for row in rows)]


def written(number: int, form: str) -> bytes:
    """A table as a file."""
    rows, draw = rows_of(number, form)
    ending, (_, _, encoding) = _ending(form), form.partition("~")
    kind, is_zipped = ending.removesuffix(".gz"), ending.endswith(".gz")
    mark = form[len(ending) : len(ending) + 1].replace("~", "") or ("\t" if kind == "tsv" else ",")
    buffer = io.BytesIO()
    if kind in ("csv", "tsv"):
        text = io.StringIO(newline="")
        quoting: Any = draw.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
        if any("\r" in value for row in rows for value in row.values()):
            quoting = csv.QUOTE_ALL
        writer = csv.writer(text, delimiter=mark, quoting=quoting, lineterminator=draw.choice(["\n", "\r\n"]))
        writer.writerow(["text", "label", "n"])
        writer.writerows(row.values() for row in rows)
        buffer.write(text.getvalue().encode(encoding or "utf-8"))
    elif kind in ("json", "jsonl"):
        more: list[Any] = [None, 1, 1.5, True, ["a"], {"b": 1}, "x"]
        lines = [json.dumps(row | {"n": draw.choice(more)}, ensure_ascii=draw.random() < 0.5) for row in rows]
        joined = f"[{','.join(lines)}]" if kind == "json" else "\n".join(lines)
        buffer.write((joined + draw.choice(["", "\n"])).encode(encoding or "utf-8"))
    elif kind == "txt":
        texts = [" ".join(row["text"].split()) for row in rows]
        buffer.write("\n".join(texts).encode(encoding or "utf-8"))
    elif kind == "xlsx":
        buffer.write(workbook([["text", "label", "n"], *([*row.values()] for row in rows)]))
    else:
        import pandas as pd

        pd.DataFrame(rows).to_parquet(buffer, index=False)
    return gzip.compress(buffer.getvalue(), mtime=0) if is_zipped else buffer.getvalue()


def workbook(cells: Cells) -> bytes:
    """An Excel file with one sheet."""
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    for number, row in enumerate(cells, start=1):
        for column, value in enumerate(row, start=1):
            if value:
                cell = book.active.cell(number, column, value)
                cell.data_type = "s"  # not a formula or an error
    book.save(file)
    return file.getvalue()


# --- zip bombs --------------------------------------------------------------------------------------------------------

BOMB = "bomb"
SHEET = "xl/worksheets/sheet1.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _with_part(name: str, content: str) -> bytes:
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook([["text"], ["a"]]))) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in dict.fromkeys((*old.namelist(), name)):
            new.writestr(part, content if part == name else old.read(part))
    return file.getvalue()


def _of_stated_size(size: int) -> bytes:
    """A workbook whose directory states another size for the sheet."""
    data = bytearray(_with_part(SHEET, f'<worksheet xmlns="{MAIN}"><sheetData/></worksheet>'))
    entry = data.rfind(SHEET.encode())  # in the directory at the end; its sizes are 26 and 22 bytes before the name
    data[entry - 22 : entry - 18] = size.to_bytes(4, "little")
    return bytes(data)


def _in_sheet(content: str) -> str:
    return f'<worksheet xmlns="{MAIN}"><sheetData>{content}</sheetData></worksheet>'


BOMBS = {
    "directory": lambda: _of_stated_size(0xFFFF_FFF0),
    "lie": lambda: _of_stated_size(10),
    "elements": lambda: _with_part(SHEET, _in_sheet("<x/>" * 400_000)),
    "row": lambda: _with_part(SHEET, _in_sheet(f"<row>{'<c/>' * 400_000}</row>")),
    "strings": lambda: _with_part("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{"<x/>" * 400_000}</sst>'),
    "styles": lambda: _with_part("xl/styles.xml", f'<styleSheet xmlns="{MAIN}">{"<x/>" * 400_000}</styleSheet>'),
    "area": lambda: _with_part(SHEET, _in_sheet('<row r="1"/><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')),
    "entities": lambda: _with_part(
        SHEET,
        "<!DOCTYPE x ["
        + "".join(f'<!ENTITY e{level + 1} "{f"&e{level};" * 10}">' for level in range(1, 9))
        + '<!ENTITY e1 "aaaaaaaaaa">]>'
        + _in_sheet("<row><c><v>&e9;</v></c></row>"),
    ),
}


# --- other readers: None for a file that they refuse, or that phasefit is known to read in its own way ---------------


def _text(path: Path, dialect: Dialect) -> str | None:
    try:
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        encoding = dialect.encoding or "utf-8"
        return data.decode("utf-8-sig" if encoding == "utf-8" else encoding).removeprefix("\ufeff")
    except (OSError, EOFError, ValueError, gzip.zlib.error):  # type: ignore[attr-defined]
        return None


def with_csv(path: Path, dialect: Dialect) -> Cells | None:
    """The rows as Python's csv module reads them."""
    text = _text(path, dialect)
    if text is None:
        return None
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, strict=True) if row
        ]
    except csv.Error:
        return None
    even = rows and all(len(row) == len(rows[0]) for row in rows)
    return rows if even and len(set(rows[0])) == len(rows[0]) else None


def with_pandas(path: Path, dialect: Dialect) -> Cells | None:
    """The rows as pandas reads them."""
    import pandas as pd

    text = _text(path, dialect)
    if text is None:
        return None
    how: dict[str, Any] = {"dtype": str, "na_filter": False, "header": None, "index_col": False, "engine": "c"}
    try:
        frame = pd.read_csv(io.StringIO(text, newline=""), sep=dialect.delimiter, **how)
    except (ValueError, OverflowError, IndexError):
        return None
    return [[*row] for row in frame.itertuples(index=False)]


def with_duckdb(path: Path, dialect: Dialect) -> Cells | None:
    """The rows as DuckDB reads them; it is not asked for the number of columns."""
    import duckdb

    expected = with_csv(path, dialect)
    if not expected or dialect.encoding != "utf-8":
        return None
    columns = {f"column{number}": "VARCHAR" for number in range(len(expected[0]))}
    options = f"header=false, nullstr='\x01', delim='{dialect.delimiter}', quote='\"', escape='\"', columns={columns}"
    try:
        rows = duckdb.sql(f"select * from read_csv('{path}', auto_detect=false, {options})").fetchall()
    except duckdb.Error:
        return None
    return [[*row] for row in rows]


def with_json(path: Path, dialect: Dialect) -> Cells | None:
    """One object per line; keys that are missing are None."""
    text = _text(path, dialect)
    if text is None:
        return None
    try:
        rows = [json.loads(line) for line in text.encode().split(b"\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(row, dict) for row in rows):
        return None
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [names, *([row.get(name) for name in names] for row in rows)]


def with_json_list(path: Path, dialect: Dialect) -> Cells | None:
    """A list of objects, or one object per line."""
    text = _text(path, dialect)
    try:
        rows = json.loads(text or "")
    except (ValueError, RecursionError):
        return with_json(path, dialect)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [names, *([row.get(name) for name in names] for row in rows)]


def with_pandas_excel(path: Path, dialect: Dialect) -> Cells | None:
    """The rows of a sheet of texts, as pandas reads them."""
    import pandas as pd

    try:
        frame = pd.read_excel(path, sheet_name=dialect.sheet, header=None, dtype=object, na_filter=False)
    except Exception:  # noqa: BLE001 - openpyxl has many
        return None
    rows = [[*row] for row in frame.itertuples(index=False)]
    is_text = all(isinstance(cell, str) and "_x" not in cell for row in rows for cell in row)
    return rows if is_text and all(map(any, rows)) and all(rows[0]) else None


def with_lines(path: Path, dialect: Dialect) -> Cells | None:
    """One text per line."""
    text = _text(path, dialect)
    if text is None:
        return None
    return [["text"], *([line] for line in text.replace("\r\n", "\n").split("\n") if line.strip())]


def with_parquet(path: Path, dialect: Dialect) -> Cells | None:
    """The rows as pandas reads them."""
    import pandas as pd

    try:
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        frame = pd.read_parquet(io.BytesIO(data))
        return [[str(name) for name in frame.columns], *([*row] for row in frame.itertuples(index=False))]
    except Exception:  # noqa: BLE001 - pyarrow has many
        return None


READERS: dict[str, list[Any]] = {
    "csv": [with_csv, with_pandas, with_duckdb],
    "tsv": [with_csv, with_pandas, with_duckdb],
    "json": [with_json_list],
    "jsonl": [with_json_list],
    "xlsx": [with_pandas_excel],
    "txt": [with_lines],
    "parquet": [with_parquet],
}


def _same(one: Cells, other: Cells) -> bool:
    return len(one) == len(other) and all(
        len(row) == len(like) and all(map(_equal, row, like)) for row, like in zip(one, other, strict=True)
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return type(one) is type(other) and bool(one == other)


def _first_difference(one: Cells, other: Cells) -> str:
    for number, (row, like) in enumerate(zip(one, other, strict=False)):
        if not _same([row], [like]):
            return f"row {number} as {row!r:.80}, others read {like!r:.80}"
    return f"{len(one)} rows, others read {len(other)}"
