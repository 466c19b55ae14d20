"""The rows of a prepared table as Parquet files that any cell can read again, whatever their labels were read from.

Whoever chooses (a search, `--recipe auto`) writes down the rows that it may look at, and nothing else reaches its
cells. Imports no torch.
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
READ = ("text", "label", "kind", "tree", "separator", "levels")  # how the source was read
CHOSEN = ("rows", "validation_rows", "test_rows", "classes", "top_classes", "fold", "leaked")  # which of its rows


def rows_without_test(prepared: Prepared) -> Table:
    """The rows to train on and those to validate on, together; never a row of the test."""
    return merged(replace(prepared, test=None)).train


def write_rows(table: Table, path: Path) -> Path:
    """Texts and labels as Parquet; `reading` says how to read them again."""
    import pandas as pd

    columns: dict[str, Any] = dict(zip(_texts(table), table.sides, strict=False))
    frame = pd.DataFrame({name: list(side) for name, side in columns.items()})
    write_frame(frame if table.labels is None else _with_labels(frame, table), path)
    return path


def write_rows_once(table: Table, path: Path) -> str:
    """A table that was written stays as it is, so that the cells on it stay the same.

    A folder that is given another question has forgotten its rows (`StudyFolder.open`).
    """
    return str(path if path.is_file() else write_rows(table, path))


def reading(table: Table, kind: str) -> dict[str, Any]:
    """The options that read `write_rows`'s file as the table was."""
    options: dict[str, Any] = {"text": _texts(table), "kind": kind, "label": (LABEL,)}
    if table.labels and isinstance(table.labels[0], tuple):
        options["label"] = tuple(f"{LABEL}_{level}" for level in range(1, _depth(table.labels or ()) + 1))
    if table.levels:
        options["levels"] = table.levels
    return options


def spec_on_rows(spec: RunSpec, **fields: Any) -> RunSpec:
    """The run on rows that were written down: nothing is left of how its source was read and chosen from."""
    bare = {name: DEFAULTS[name] for name in (*READ, *CHOSEN, "validation", "test", "unlabelled")}
    return spec.replace(**{**bare, "unseen": "drop", **fields})


def has_part(spec: RunSpec, part: str) -> bool:
    """Whether validation or test rows are given rather than split off."""
    given = spec.option(part) is not None
    return given or (spec.split.fold is None and part in source_files(str(spec.data.source), spec.data.data_dir))


def _texts(table: Table) -> tuple[str, ...]:
    return SEVERAL[: len(table.sides)] if table.others else ONE


def _with_labels(frame: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Names as text, numbers as numbers; a path has a column for each level, several labels are a list."""
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
    """The names on one level; nothing where a path has ended."""
    return [str(path[level]) if level < len(path) else None for path in paths]


def _depth(labels: Sequence[Label]) -> int:
    return max((len(label) for label in labels if isinstance(label, tuple)), default=1)
