"""One table: from a file, a frame or lists, with its columns found and its texts and labels checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.checks import Place, check_labels, check_texts, is_missing, split_paths
from phasefit.data.columns import Columns, find_columns
from phasefit.data.table import Table
from phasefit.errors import DataError, LabelError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Options:
    """Which columns to read, and whether a table without labels will do."""

    text: str | None = None
    label: tuple[str, ...] = ()
    tree: str | None = None
    need_labels: bool = True
    usual: Columns | None = None  # what to take where no column is named and the table has these
    may_lack: bool = False  # a split whose labels are all missing is taken as one without labels


@dataclass(frozen=True)
class Lists:
    """Texts and labels as Python sequences."""

    texts: Sequence[Any]
    labels: Sequence[Any] | None


def content_of(source: Any) -> Any:
    """A frame, or Lists, of an object in memory."""
    if hasattr(source, "iloc"):
        return source if hasattr(source, "columns") else Lists(source.tolist(), None)
    if hasattr(source, "features") and hasattr(source, "to_pandas"):
        from phasefit.data.hub import frame_of

        return frame_of(source)
    if isinstance(source, Mapping):
        import pandas as pd

        return pd.DataFrame({str(key): pd.Series(list(value), dtype=object) for key, value in source.items()})
    if isinstance(source, str) or not hasattr(source, "__len__"):
        raise DataError(f"texts are needed as a file, a frame or a list, not {type(source).__name__}")
    if isinstance(source, tuple) and len(source) == 2 and not any(isinstance(item, str) for item in source):
        return Lists(_listed(source[0]), None if source[1] is None else _listed(source[1]))
    return Lists(_listed(source), None)


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def table_from_path(path: Path, name: str, options: Options) -> Table:
    """The Table of a file."""
    from phasefit.data.readers import read_frame

    return table_from_frame(read_frame(path), name, options, Place(path.name, path))


def table_from_frame(frame: pd.DataFrame, name: str, options: Options, place: Place) -> Table:
    """The Table of a frame, which it keeps."""
    columns = [str(column) for column in frame.columns]
    frame = frame.set_axis(columns, axis=1).reset_index(drop=True)
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"{place.name}: two columns are named '{twice}'; rename one")
    text, label = options.text, options.label
    if options.usual is not None and text is None and options.usual.text in columns:
        text = options.usual.text
    if options.usual is not None and not label and options.need_labels and {*options.usual.labels} <= {*columns}:
        label = options.usual.labels
    found = find_columns(columns, text=text, label=label, need_labels=options.need_labels, where=place.name)
    texts = check_texts(frame[found.text].tolist(), place)
    if not found.labels:
        return Table(name, texts, None, frame, columns=found)
    values = [frame[column].tolist() for column in found.labels]
    raw = values[0] if len(values) == 1 else list(zip(*values, strict=True))
    return Table(name, texts, _labels(raw, options, place), frame, columns=found)


def table_from_lists(lists: Lists, name: str, options: Options, place: Place) -> Table:
    """The Table of texts and labels in memory."""
    texts = check_texts(lists.texts, place)
    if lists.labels is None:
        if options.need_labels:
            raise LabelError(f"{place.name}: labels are needed; give (texts, labels)")
        return Table(name, texts)
    if len(lists.labels) != len(texts):
        raise DataError(f"{place.name}: {len(texts)} texts but {len(lists.labels)} labels")
    return Table(name, texts, _labels(lists.labels, options, place))


def _labels(values: Sequence[Any], options: Options, place: Place) -> Sequence[Any] | None:
    """Checked labels; where none are needed and none were asked for, a column that holds none is left alone."""
    if options.may_lack and all(is_missing(value) for value in values):
        return None
    try:
        labels = check_labels(values, place, paths=options.tree is not None)
        return labels if not options.tree or isinstance(labels[0], tuple) else split_paths(labels, options.tree, place)
    except LabelError:
        if options.need_labels or options.label:
            raise
        return None
