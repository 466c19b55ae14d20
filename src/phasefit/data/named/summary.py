"""Summary statistics of a dataset, for `phasefit datasets NAME` and the report before training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.io.frames import read_frame
from phasefit.data.labels.kinds import LABEL_KINDS
from phasefit.data.named import cards
from phasefit.data.named.cards import Card
from phasefit.data.sources import read_dataset
from phasefit.data.table import Dataset, Label, Table, label_name

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("train", "validation", "test", "unlabelled")


@dataclass(frozen=True)
class Description:
    """Sizes, classes and lengths (in words); counts and lengths are those of train, or of the only split."""

    name: str
    title: str
    kind: str
    where: Path | None  # the folder of a named dataset; None if it is in memory or not on this machine
    rows: dict[str, int] = field(default_factory=dict)  # per part
    classes: int | None = None
    counts: dict[str, int] = field(default_factory=dict)  # rows per class, largest first
    imbalance: float | None = None  # largest class / smallest class
    mean_words: float | None = None
    longest_words: int | None = None
    card: Card | None = None


@dataclass(frozen=True)
class Inspection:
    """The description of a dataset, its tables, and the columns of its train part."""

    description: Description
    tables: Mapping[str, Table] = field(default_factory=dict)
    columns: Mapping[str, Sequence[object]] = field(default_factory=dict)


def describe(source: Any, *, data_dir: Path | None = None, **options: Any) -> Description:
    """Describe a named dataset, a Dataset, a Table or any source of `read_dataset`, if it is on this machine."""
    return inspect_dataset(source, data_dir=data_dir, **options).description


def describe_card(card: Card, data_dir: Path | None = None) -> Description:
    """Describe a named dataset of any kind."""
    folder = cards.locate(card, data_dir)
    if folder is None:
        return Description(card.name, card.title, card.kind, None, dict(card.rows), card.classes, card=card)
    return _describe_frames(card, folder, _frames(card, folder))


def inspect_dataset(source: Any, *, data_dir: Path | None = None, **options: Any) -> Inspection:
    """Describe a dataset and keep its tables and columns."""
    if isinstance(source, Table):
        source = Dataset(source.name, source)
    if isinstance(source, str) and not options and not Path(source).exists():
        card = cards.find_card(source)
        if card is not None:
            return _inspect_card(card, data_dir)
    if not isinstance(source, Dataset):
        source = read_for_inspection(source, data_dir=data_dir, **options)
    tables = {part: table for part in PARTS if (table := getattr(source, part)) is not None}
    rows = {part: len(table) for part, table in tables.items()}
    train = source.train
    labels = train.level_names if train.levels else train.labels or []
    title = source.card.title if source.card else source.name
    base = Description(source.name, title, _kind(train), None, rows, card=source.card)
    description = _described(base, _class_names(labels), list(train.all_texts))
    names = train.columns.texts if train.others and train.columns else ("text", "second text", "third text")
    columns: dict[str, Sequence[object]] = dict(zip(names, train.sides, strict=False))
    return Inspection(description, tables, columns | ({"label": list(map(label_name, labels))} if labels else {}))


def read_for_inspection(source: Any, *, data_dir: Path | None = None, **options: Any) -> Dataset:
    """Any dataset: single texts, pairs or triples, with or without labels; labels that exist must be valid."""
    dataset = read_dataset(source, data_dir=data_dir, sides="any", need_labels=False, **options)
    train = dataset.train
    if train.labels is None and not train.others and train.columns is not None and train.columns.labels:
        return read_dataset(source, data_dir=data_dir, **options)  # raises the error about the labels
    return dataset


def _class_names(labels: Sequence[Label]) -> Iterator[str]:
    """The classes of all rows; nothing for scores."""
    for label in labels:
        if isinstance(label, frozenset):
            yield from map(str, label)
        elif not isinstance(label, float):
            yield label_name(label)


def _kind(table: Table) -> str:
    if table.others:
        return "pair" if len(table.others) == 1 else "triple"
    if table.labels is None:
        return "none"
    return table.label_kind


def _inspect_card(card: Card, data_dir: Path | None) -> Inspection:
    folder = cards.locate(card, data_dir)
    if folder is None:
        return Inspection(describe_card(card, data_dir))
    frames = _frames(card, folder)
    columns = {name: frames[card.main_part][name].tolist() for name in (*card.text, *card.label)}
    tables = {part: _table(card, part, frame) for part, frame in frames.items()}
    return Inspection(_describe_frames(card, folder, frames), tables, columns)


def _frames(card: Card, folder: Path) -> dict[str, pd.DataFrame]:
    files = {part: cards.split_file(folder, file) for part, file in card.splits.items()}
    return {part: read_frame(file) for part, file in files.items() if file}


def _table(card: Card, part: str, frame: pd.DataFrame) -> Table:
    """A split as an unchecked table; without labels unless each text has one class."""
    texts, *others = (frame[column].tolist() for column in card.text)
    one_class = card.label_kind is not None and LABEL_KINDS[card.label_kind].answer == "class"
    if part == "unlabelled" or not one_class:
        return Table(card.name, texts, others=tuple(others))
    labels = [row if len(row) > 1 else row[0] for row in zip(*(frame[c].tolist() for c in card.label), strict=True)]
    return Table(card.name, texts, labels if any(labels) else None, others=tuple(others))


def _describe_frames(card: Card, folder: Path, frames: Mapping[str, pd.DataFrame]) -> Description:
    rows = {part: len(frame) for part, frame in frames.items()}
    train = frames[card.main_part]
    texts = [text for column in card.text for text in train[column].tolist()]
    names: Iterable[str] = ()
    if card.label and card.has_classes:
        names = ("/".join(levels) for levels in zip(*(train[column].tolist() for column in card.label), strict=True))
    if card.separator:
        names = [one for name in names for one in name.split(card.separator)]
    return _described(Description(card.name, card.title, card.kind, folder, rows, card=card), names, texts)


def _described(base: Description, names: Iterable[str], texts: Sequence[str]) -> Description:
    counts = dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
    words = [len(text.split()) for text in texts]
    return Description(
        base.name,
        base.title,
        base.kind,
        base.where,
        base.rows,
        classes=len(counts) or None,
        counts=counts,
        imbalance=max(counts.values()) / min(counts.values()) if counts else None,
        mean_words=sum(words) / len(words) if words else None,
        longest_words=max(words, default=None),
        card=base.card,
    )
