"""Read one table from a file, a frame or lists: find its columns and check its texts and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from phasefit.data.checks import Place, check_texts, is_missing
from phasefit.data.columns import Columns, NoLabelsError, PairsError, Sides, find_columns
from phasefit.data.io.dialect import Dialects, FileReading
from phasefit.data.labels.kinds import LABEL_KINDS
from phasefit.data.labels.reading import LabelReading, detect_kind, read_kind
from phasefit.data.table import Table
from phasefit.errors import DataError, LabelError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True)
class Options:
    """Which columns to read, and whether missing labels or several texts per row are accepted."""

    text: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    reading: LabelReading = field(default_factory=LabelReading)
    need_labels: bool = True
    usual: Columns | None = None  # columns to use if none are named and the table has these
    may_lack: bool = False  # if all labels of a split are missing, read it as a table without labels
    sides: Sides = "one"
    no_labels: bool = False  # ignore the label column: it is not about the text
    dialects: Dialects = field(default_factory=Dialects)
    empty: Empty | None = None  # what to do with empty cells; None refuses them without naming the option
    store: bool = False  # keep the texts of a large file in a temporary file; such a table has no frame


Empty: TypeAlias = Literal["refuse", "drop", "keep"]
"""Rows with empty cells: refused, dropped, or kept. Only texts are kept, as empty texts: labels are then refused."""


@dataclass(frozen=True)
class Lists:
    """Texts (or pairs and triples as tuples) and labels as Python sequences."""

    texts: Sequence[Any]
    labels: Sequence[Any] | None
    weights: np.ndarray | None = None  # one per row, checked


def content_of(source: Any) -> Any:
    """An object in memory as a frame or as Lists."""
    if isinstance(source, Lists):
        return source
    if hasattr(source, "iloc"):
        return source if hasattr(source, "columns") else Lists(source.tolist(), None)
    if hasattr(source, "features") and hasattr(source, "to_pandas"):
        from phasefit.data.io.hub import frame_of

        return frame_of(source)
    if isinstance(source, Mapping):
        import pandas as pd

        for name, column in source.items():
            if isinstance(column, str) or not hasattr(column, "__len__"):
                raise DataError(f"column '{name}' must be a list of values, not {column!r}")
        return pd.DataFrame({str(key): pd.Series(list(value), dtype=object) for key, value in source.items()})
    if isinstance(source, str) or not hasattr(source, "__len__"):
        raise DataError(f"expected a file, a frame or a list of texts, not {type(source).__name__}")
    if isinstance(source, tuple) and len(source) == 2 and not any(isinstance(item, str) for item in source):
        return Lists(_listed(source[0]), None if source[1] is None else _listed_labels(source[1]))
    return Lists(_listed(source), None)


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _listed_labels(labels: Any) -> list[Any]:
    if getattr(labels, "ndim", 1) == 2 and {0, 1}.issuperset(rows := labels.ravel().tolist()) and rows:
        raise LabelError("a matrix of zeros and ones has no label names; give each text a list of its labels")
    return _listed(labels)


def table_from_path(path: Path, name: str, options: Options) -> Table:
    """The Table of a file."""
    from phasefit.data.io.frames import read_file

    content = read_file(path, options.dialects.of(path))
    with with_assumption(content.reading):
        return table_from_frame(content.frame, name, options, Place(path.name, content))


@contextmanager
def with_assumption(reading: FileReading) -> Iterator[None]:
    """Add to an error about columns how the file was read, which the user may not expect."""
    try:
        yield
    except NoLabelsError as error:
        if not reading.assumption:
            raise
        assumption = reading.assumption.removeprefix(f"{reading.path.name}: ")
        raise NoLabelsError(f"{error} (assumed: {assumption})") from None


def table_from_frame(frame: pd.DataFrame, name: str, options: Options, place: Place) -> Table:
    """The Table of a frame; it keeps a reference to the frame."""
    names = [str(column) for column in frame.columns]
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"{place.name}: two columns are named '{twice}'; rename one")
    columns = wanted_columns(names, options, place.name)
    sides = [frame[column].tolist() for column in columns.texts]
    labels = None
    if columns.labels and not options.no_labels:
        values = [frame[column].tolist() for column in columns.labels]
        labels = values[0] if len(values) == 1 else list(zip(*values, strict=True))
    return _table(Table(name, [], frame=frame, columns=columns), sides, labels, options, place)


def _table(
    bare: Table, sides: Sequence[Sequence[Any]], labels: Sequence[Any] | None, options: Options, place: Place
) -> Table:
    """The table with these texts and labels; rows with empty cells are refused, dropped or kept."""
    place = replace(place, may_drop=options.empty == "refuse" and bare.frame is not None)  # lists are easy to filter
    total, frame, rows, blank = len(sides[0]), bare.frame, None, None
    if options.empty == "drop":
        rows = _rows_without_empty(sides, labels, options, place)
    if rows is not None:
        sides = [[side[row] for row in rows.tolist()] for side in sides]
        labels = None if labels is None else [labels[row] for row in rows.tolist()]
        frame = None if frame is None else frame.iloc[rows].reset_index(drop=True)
        bare = replace(bare, weights=None if bare.weights is None else bare.weights[rows])
        place = replace(place, rows=rows)
    elif options.empty == "keep" and (empty := rows_without_text(sides)).any():
        blank = empty
    texts, *others = (_side(side, place, blank, bare.columns, number) for number, side in enumerate(sides))
    table = replace(
        bare,
        texts=texts,
        others=tuple(others),
        frame=frame,
        rows=rows,
        file=None if place.file is None else place.file.reading,
        dropped=() if rows is None else tuple((np.setdiff1d(np.arange(total), rows) + 1).tolist()),
        blank=blank,
        **({} if labels is None else label_fields(labels, options, place)),
    )
    return table.flat() if options.sides == "each" else table


def rows_without_text(sides: Sequence[Sequence[Any]]) -> np.ndarray:
    """A mask of the rows in which a text is missing."""
    return np.asarray(np.any([[is_missing(value) for value in side] for side in sides], axis=0))


def _rows_without_empty(
    sides: Sequence[Sequence[Any]], labels: Sequence[Any] | None, options: Options, place: Place
) -> np.ndarray | None:
    """The rows with a text and, where every row needs one, a label; None if that is all of them."""
    empty = rows_without_text(sides)
    if labels is not None and (options.need_labels or options.label):
        missing = np.array([_lacks_label(label) for label in labels], dtype=bool)
        kind = options.reading.stated_kind or detect_kind([label for label in labels if not _lacks_label(label)])
        is_set = LABEL_KINDS[kind].answer == "set"  # in which an empty cell is an empty set
        if not is_set and not (options.may_lack and missing.all()):
            empty |= missing
    if empty.all():
        raise DataError(f"{place.name}: every row has an empty text or label; check the columns")
    return np.flatnonzero(~empty) if empty.any() else None


def _lacks_label(label: Any) -> bool:
    return all(map(is_missing, label)) if isinstance(label, tuple) else is_missing(label)


def wanted_columns(names: Sequence[str], options: Options, where: str) -> Columns:
    """The columns of texts and labels among these names."""
    text, label = _with_usual(names, options)
    wanted: dict[str, Any] = {"need_labels": options.need_labels, "where": where, "sides": options.sides}
    return find_columns(names, text=text, label=label, **wanted)


def _with_usual(columns: Sequence[str], options: Options) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The named columns, or by default those of `options.usual` that the table has."""
    text, label, usual = options.text, options.label, options.usual
    if usual is None:
        return text, label
    # If a run learned from pairs, no single side is the default for a table with several.
    if not text and options.sides in ("any", "two", "pairs") and usual.others and {*usual.texts[:2]} <= {*columns}:
        text = tuple(column for column in usual.texts if column in columns)
    if not text and usual.text in columns and not {*usual.others} & {*columns}:
        text = (usual.text,)
    if not label and options.need_labels and {*usual.labels} <= {*columns}:
        label = usual.labels
    return text, label


def _side(
    values: Sequence[Any], place: Place, blank: np.ndarray | None, columns: Columns | None, number: int
) -> list[str]:
    """The texts of one column, "" in blank rows; messages name the column if there are several."""
    if columns is not None and columns.others:
        place = replace(place, column=columns.texts[number])
    if blank is None:
        return check_texts(values, place)
    texts, rows = [""] * len(values), np.flatnonzero(~blank)
    if len(rows):
        checked = check_texts([values[row] for row in rows.tolist()], replace(place, rows=rows))
        for row, text in zip(rows.tolist(), checked, strict=True):
            texts[row] = text
    return texts


def table_from_lists(lists: Lists, name: str, options: Options, place: Place) -> Table:
    """The Table of texts and labels in memory."""
    sides = _columns_of_rows(lists.texts, options.sides, place)
    if lists.labels is None:
        if options.need_labels:
            raise NoLabelsError(f"{place.name}: labels are needed; pass (texts, labels)")
    elif len(lists.labels) != len(sides[0]):
        raise DataError(f"{place.name}: {len(sides[0])} texts but {len(lists.labels)} labels; give one label per text")
    return _table(Table(name, [], weights=lists.weights), sides, lists.labels, options, place)


def _columns_of_rows(rows: Sequence[Any], sides: Sides, place: Place) -> list[list[Any]]:
    """The texts as one list, or as two or three lists if the rows are pairs or triples."""
    widths = {len(row) if isinstance(row, tuple | list) else 1 for row in rows}
    if not any(isinstance(row, tuple | list) for row in rows):
        if sides == "pairs" and len(rows):
            raise DataError(
                f"{place.name}: pairs of texts are needed here; give them as tuples of two texts, or of three with a "
                "hard negative last"
            )
        return [list(rows)]
    if sides == "one":
        raise PairsError(
            f"{place.name}: these are pairs of texts, but single texts are needed here; give one text per row"
        )
    if sides == "two" and widths != {2}:
        raise DataError(f"{place.name}: rows must have one text or a pair of texts; found rows of {_listing(widths)}")
    if len(widths) > 1 or not widths <= {2, 3}:
        raise DataError(
            f"{place.name}: rows must be all pairs or all triples of texts; found rows of {_listing(widths)}"
        )
    return [list(side) for side in zip(*rows, strict=True)]


def _listing(widths: set[int]) -> str:
    return " and ".join(f"{width} texts" if width != 1 else "1 text" for width in sorted(widths))


def label_fields(values: Sequence[Any], options: Options, place: Place) -> dict[str, Any]:
    """The fields of a Table for its checked labels: labels, kind and levels.

    If labels are neither needed nor requested, an invalid label column is ignored.
    """
    if options.may_lack and all(is_missing(value) for value in values):
        return {}
    try:
        kind, labels = read_kind(values, place, options.reading)
    except LabelError:
        if options.need_labels or options.label:
            raise
        return {}
    return {"labels": labels, "kind": kind, "levels": options.reading.levels}
