"""Tables: what phasefit reads must be what csv, pandas and DuckDB read, wherever those agree."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
from pathlib import Path
from typing import Any, ClassVar

from fuzz.edits import draw_edits
from fuzz.harness import Case, Target, WrongResult
from wild import WORDS

FORMS = ("csv", "tsv", "jsonl", "parquet", "txt", "csv.gz", "tsv.gz", "jsonl.gz", "parquet.gz", "txt.gz")
TABLES = 100  # different tables of each form
LABELS = ["good", "bad", "1", "0", "1.5", "a|b", "['a', 'b']", "", "NA", "x/y", "é", "-", "nan", "1e400"]
Cells = list[list[Any]]


class Tables(Target):
    """Files of every supported form, whole and damaged."""

    name: ClassVar[str] = "tables"

    def draw(self, random: random.Random) -> Case:
        form = random.choice(FORMS)
        base = f"{random.randrange(TABLES)}.{form}"
        data = (self.base(base) / f"table.{form}").read_bytes()
        edits = [] if random.random() < 0.2 else draw_edits(random, data, "bytes")
        return Case(self.name, base, f"table.{form}", "bytes", edits)

    def base(self, name: str) -> Path:
        folder = self.bases / name
        if not folder.is_dir():
            folder.mkdir()
            number, _, form = name.partition(".")
            (folder / f"table.{form}").write_bytes(written(int(number), form))
        return folder

    def execute(self, folder: Path, case: Case) -> None:
        from phasefit.data.io.frames import read_frame
        from phasefit.data.sources import read_table
        from phasefit.errors import PhasefitError

        path = folder / case.file
        references = [read for read in (reader(path) for reader in READERS[_kind(path)]) if read is not None]
        try:
            frame = read_frame(path)
        except PhasefitError as error:
            if not case.edits:
                raise WrongResult(f"an intact table was refused: {error}") from None
            raise
        read = [[str(name) for name in frame.columns], *([*row] for row in frame.itertuples(index=False))]
        agreed = references and all(_same(reference, references[0]) for reference in references)
        if agreed and not _same(read, references[0]):
            raise WrongResult(f"read {_first_difference(read, references[0])}")
        table = read_table(path, need_labels=False, sides="any")
        if len(table.texts) != len(frame):
            raise WrongResult(f"{len(table.texts)} texts of {len(frame)} rows")


def _kind(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[2]


def written(number: int, form: str) -> bytes:
    """A table with texts that real tables contain, and some that they hopefully never will."""
    draw = random.Random(f"table {number}")
    words = [
        *(word.replace("LONG", "x" * 300).replace("\0", "") for word in WORDS),
        "song",
        "rain",
        "a,b",
        'say "x"',
        "don't",
    ]
    kind, zipped = form.removesuffix(".gz"), form.endswith(".gz")
    rows = [
        {
            "text": " ".join(draw.choices(words, k=draw.randint(1, 5))) + "x",
            "label": draw.choice(LABELS[:2]),
            "n": draw.choice(LABELS),
        }
        for _ in range(draw.randint(1, 8))
    ]
    buffer = io.BytesIO()
    if kind in ("csv", "tsv"):
        text = io.StringIO(newline="")
        quoting: Any = draw.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
        if any("\r" in value for row in rows for value in row.values()):
            quoting = csv.QUOTE_ALL
        writer = csv.writer(
            text, delimiter="\t" if kind == "tsv" else ",", quoting=quoting, lineterminator=draw.choice(["\n", "\r\n"])
        )
        writer.writerow(["text", "label", "n"])
        writer.writerows(row.values() for row in rows)
        buffer.write(text.getvalue().encode())
    elif kind == "jsonl":
        more: list[Any] = [None, 1, 1.5, True, ["a"], {"b": 1}, "x"]
        lines = [json.dumps(row | {"n": draw.choice(more)}, ensure_ascii=draw.random() < 0.5) for row in rows]
        buffer.write(("\n".join(lines) + draw.choice(["", "\n"])).encode())
    elif kind == "txt":
        texts = [" ".join(row["text"].split()) for row in rows]
        buffer.write("\n".join(texts).encode())
    else:
        import pandas as pd

        pd.DataFrame(rows).to_parquet(buffer, index=False)
    return gzip.compress(buffer.getvalue(), mtime=0) if zipped else buffer.getvalue()


# --- other readers: None for a file that they refuse, or that phasefit is known to read in its own way ---------------


def _text(path: Path) -> str | None:
    try:
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        return data.decode("utf-8-sig")
    except (OSError, EOFError, ValueError, gzip.zlib.error):  # type: ignore[attr-defined]
        return None


def with_csv(path: Path) -> Cells | None:
    """The rows as Python's csv module reads them."""
    text = _text(path)
    if text is None:
        return None
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=_separator(path), strict=True) if row
        ]
    except csv.Error:
        return None
    even = rows and all(len(row) == len(rows[0]) for row in rows)
    return rows if even and len(set(rows[0])) == len(rows[0]) else None


def with_pandas(path: Path) -> Cells | None:
    """The rows as pandas reads them."""
    import pandas as pd

    text = _text(path)
    if text is None:
        return None
    how: dict[str, Any] = {"dtype": str, "na_filter": False, "header": None, "index_col": False, "engine": "c"}
    try:
        frame = pd.read_csv(io.StringIO(text, newline=""), sep=_separator(path), **how)
    except (ValueError, OverflowError, IndexError):
        return None
    return [[*row] for row in frame.itertuples(index=False)]


def with_duckdb(path: Path) -> Cells | None:
    """The rows as DuckDB reads them; it is not asked for the number of columns."""
    import duckdb

    expected = with_csv(path)
    if not expected:
        return None
    columns = {f"column{number}": "VARCHAR" for number in range(len(expected[0]))}
    options = f"header=false, nullstr='\x01', delim='{_separator(path)}', quote='\"', escape='\"', columns={columns}"
    try:
        rows = duckdb.sql(f"select * from read_csv('{path}', auto_detect=false, {options})").fetchall()
    except duckdb.Error:
        return None
    return [[*row] for row in rows]


def with_json(path: Path) -> Cells | None:
    """One object per line; keys that are missing are None."""
    text = _text(path)
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


def with_lines(path: Path) -> Cells | None:
    """One text per line."""
    text = _text(path)
    if text is None:
        return None
    return [["text"], *([line] for line in text.replace("\r\n", "\n").split("\n") if line.strip())]


def with_parquet(path: Path) -> Cells | None:
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
    "jsonl": [with_json],
    "txt": [with_lines],
    "parquet": [with_parquet],
}


def _separator(path: Path) -> str:
    return "\t" if _kind(path) == "tsv" else ","


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
