"""What a dataset holds, in numbers: for `phasefit datasets NAME` and for the report before training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phasefit.data import named
from phasefit.data.card import Card
from phasefit.data.dataset import Dataset
from phasefit.data.readers import read_frame
from phasefit.data.sources import read_dataset
from phasefit.data.table import Table


@dataclass(frozen=True)
class Description:
    """Sizes, classes and lengths (in words); counts and lengths are those of the train part."""

    name: str
    title: str
    kind: str
    where: Path | None  # the folder of a named dataset; None where it is in memory or not on this machine
    rows: dict[str, int] = field(default_factory=dict)  # per part
    classes: int | None = None
    counts: dict[str, int] = field(default_factory=dict)  # rows per class, largest first
    imbalance: float | None = None  # largest class / smallest class
    mean_words: float | None = None
    longest_words: int | None = None
    card: Card | None = None


def describe(source: Any, *, data_dir: Path | None = None, **options: Any) -> Description:
    """Describe a named dataset, a Dataset, a Table, or anything `read_dataset` takes; counts only what is here."""
    if isinstance(source, Table):
        source = Dataset(source.name, source)
    if isinstance(source, str) and not options and not Path(source).exists():
        card = named.find_card(source)
        if card is not None:
            return describe_card(card, data_dir)
    if not isinstance(source, Dataset):
        source = read_dataset(source, data_dir=data_dir, **options)
    parts = {part: getattr(source, part) for part in ("train", "validation", "test", "unlabelled")}
    rows = {part: len(table) for part, table in parts.items() if table is not None}
    labels = source.train.labels or []
    kind = "tree" if labels and isinstance(labels[0], tuple) else "single"
    names = ("/".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels)
    title = source.card.title if source.card else source.name
    return _described(Description(source.name, title, kind, None, rows, card=source.card), names, source.train.texts)


def describe_card(card: Card, data_dir: Path | None = None) -> Description:
    """Describe a named dataset of any kind, also those that cannot be trained on yet."""
    folder = named.locate(card, data_dir)
    if folder is None:
        return Description(card.name, card.title, card.kind, None, dict(card.rows), card.classes, card=card)
    files = {part: named.split_file(folder, file) for part, file in card.splits.items()}
    frames = {part: read_frame(file) for part, file in files.items() if file}
    rows = {part: len(frame) for part, frame in frames.items()}
    train = frames["train"]
    texts = [text for column in card.text for text in train[column].tolist()]
    names: Iterable[str] = ()
    if card.label and card.kind not in ("score", "triple"):
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
