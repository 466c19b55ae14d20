"""The rows of a prepared table as Parquet files that any cell can read, whatever the original format of labels.

A search and `--recipe auto` write the rows that they may use, and their cells read nothing else. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.io.frames import write_frame
from phasefit.data.sources import source_files
from phasefit.data.table import Label, Table
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared
from phasefit.runs.specification import DEFAULTS, RunSpec

if TYPE_CHECKING:
    import pandas as pd

ONE, SEVERAL = ("text",), ("text_a", "text_b", "text_c")
LABEL = "label"
READ = (  # how to read the source
    *("text", "label", "kind", "tree", "separator", "levels"),
    *("delimiter", "encoding", "sheet", "empty"),
)
CHOSEN = ("rows", "validation_rows", "test_rows", "classes", "top_classes", "fold", "leaked")  # which rows to use


def rows_without_test(prepared: Prepared) -> Table:
    """Training and validation rows together, without test rows."""
    return merged(replace(prepared, test=None)).train


def write_rows(table: Table, path: Path) -> Path:
    """Write texts and labels as Parquet; `reading` returns the options to read them."""
    import pandas as pd

    columns: dict[str, Any] = dict(zip(_texts(table), table.sides, strict=False))
    frame = pd.DataFrame({name: list(side) for name, side in columns.items()})
    write_frame(frame if table.labels is None else _with_labels(frame, table), path)
    return path


def write_rows_once(table: Table, path: Path) -> str:
    """Write a table unless the file exists, so that cells keep their keys.

    `StudyFolder.open` deletes the rows of another question.
    """
    return str(path if path.is_file() else write_rows(table, path))


def reading(table: Table, kind: str) -> dict[str, Any]:
    """The options that read the file of `write_rows` back as the same table."""
    options: dict[str, Any] = {"text": _texts(table), "kind": kind, "label": (LABEL,)}
    if table.labels and isinstance(table.labels[0], tuple):
        options["label"] = tuple(f"{LABEL}_{level}" for level in range(1, _depth(table.labels or ()) + 1))
    if table.levels:
        options["levels"] = table.levels
    return options


def spec_on_rows(spec: RunSpec, **fields: Any) -> RunSpec:
    """The run on written rows: options for reading the source and selecting rows are reset."""
    bare = {name: DEFAULTS[name] for name in (*READ, *CHOSEN, "validation", "test", "unlabelled")}
    return spec.replace(**{**bare, "unseen": "drop", **fields})


def has_part(spec: RunSpec, part: str) -> bool:
    """Whether validation or test rows are given instead of split off."""
    given = spec.option(part) is not None
    return given or (spec.split.fold is None and part in source_files(str(spec.data.source), spec.data.data_dir))


def _texts(table: Table) -> tuple[str, ...]:
    return SEVERAL[: len(table.sides)] if table.others else ONE


def _with_labels(frame: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Add label columns: names as text, numbers as numbers, one column per level of a path, lists of labels."""
    labels = list(table.labels or ())
    first = labels[0]
    if isinstance(first, tuple):
        paths = [label for label in labels if isinstance(label, tuple)]
        return frame.assign(**{f"{LABEL}_{level + 1}": _level(paths, level) for level in range(_depth(labels))})
    return frame.assign(**{LABEL: _plain(labels, table.levels)})


def _plain(labels: Sequence[Label], levels: tuple[str, ...]) -> list[Any]:
    if isinstance(labels[0], frozenset):
        return [sorted(map(str, label)) for label in labels if isinstance(label, frozenset)]
    if levels:
        return [levels[int(label)] for label in labels if isinstance(label, float)]
    if all(type(label) is float for label in labels) or all(type(label) is int for label in labels):
        return list(labels)
    return [str(label) for label in labels]


def _level(paths: Sequence[tuple[object, ...]], level: int) -> list[Any]:
    """The names on one level; None if a path is shorter."""
    return [str(path[level]) if level < len(path) else None for path in paths]


def _depth(labels: Sequence[Label]) -> int:
    return max((len(label) for label in labels if isinstance(label, tuple)), default=1)
