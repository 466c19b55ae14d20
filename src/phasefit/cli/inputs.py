"""What commands read: the table to work on, from a file, a name or standard input, and the model to use."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from phasefit.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from phasefit.data.table import Table
    from phasefit.models.model import Model

Format: TypeAlias = Literal["lines", "csv", "tsv", "jsonl"]
STDIN = "standard-input"


def load(run: str, device: str, threads: int | None) -> Model:
    """The model of a run, on its device."""
    if threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # read when torch is first imported, which is below
    from phasefit.store import load_model

    return load_model(run, device=device)


def read_texts(source: str | None, *, text: str | None, format: Format, data_dir: Path | None) -> Table:
    """Texts to work on, labels not needed, with all the columns they came with."""
    from phasefit.data.sources import read_table

    if source is not None and source != "-":
        return read_table(source, text=text, need_labels=False, data_dir=data_dir)
    if source is None and sys.stdin.isatty():
        raise DataError("nothing to read: give a FILE, or - to type or pipe texts in")
    if format == "lines":
        return _lines(sys.stdin.buffer.read())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{STDIN}.{format}"
        file.write_bytes(sys.stdin.buffer.read())
        return read_table(str(file), text=text, need_labels=False)


def read_labelled(
    source: str, *, text: str | None, label: Sequence[str], tree: str | None, split: str, data_dir: Path | None
) -> Table:
    """Texts with labels; of a named dataset, one split."""
    from phasefit.data.sources import read_table

    return read_table(
        source, text=text, label=tuple(label), tree=tree, split=split, need_labels=True, data_dir=data_dir
    )


def frame_of(table: Table) -> pd.DataFrame:
    """The frame the table came from, or one made of its texts."""
    import pandas as pd

    return table.frame if table.frame is not None else pd.DataFrame({"text": list(table.texts)})


def _lines(data: bytes) -> Table:
    """One text per line; an empty line is an empty text, so that output lines stay beside input lines."""
    from phasefit.data.table import Table

    try:
        whole = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{STDIN}, line {row}: broken UTF-8; convert the text to UTF-8 first") from None
    texts = whole.removesuffix("\n").split("\n")  # not splitlines: a form feed or U+2028 is part of a text
    if not whole.strip():
        raise DataError(f"{STDIN} is empty: there is no text to read")
    table = Table(STDIN, texts)
    return Table(STDIN, texts, frame=frame_of(table))
