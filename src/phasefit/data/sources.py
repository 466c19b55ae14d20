"""Read Tables from any source: paths, folders, named datasets, the hub, frames, lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from phasefit.data.checks import Place
from phasefit.data.columns import Columns, Sides, as_names
from phasefit.data.io.dialect import Dialects, checked_dialect
from phasefit.data.io.files import stem
from phasefit.data.labels.reading import LabelReading
from phasefit.data.named import cards
from phasefit.data.named.cards import Card
from phasefit.data.table import Dataset, Table, content_hash
from phasefit.data.table_reading import (
    Empty,
    Lists,
    Options,
    content_of,
    table_from_frame,
    table_from_lists,
    table_from_path,
)
from phasefit.data.table_storing import stored_table
from phasefit.errors import DataError, LabelError

PARTS = ("train", "validation", "test", "unlabelled")
OTHER_NAMES = {"validation": ("valid", "val", "dev")}


class NoSplitError(DataError):
    """A dataset lacks the requested split; callers may catch it to try another."""


def read_table(
    source: Any,
    *,
    text: Sequence[str] | str | None = None,
    label: Sequence[str] = (),
    tree: str | None = None,
    kind: str | None = None,
    separator: str | None = None,
    levels: Sequence[str] = (),
    need_labels: bool = True,
    data_dir: Path | None = None,
    split: str = "train",
    what: str = "table",
    usual: Columns | None = None,
    sides: Sides = "one",
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    read_as: Mapping[str, Mapping[str, str]] | None = None,
    empty: Empty | None = None,
    check_used: bool = True,
    store: bool = False,
) -> Table:
    """One table; `split` selects one of several splits, `what` names the table in messages if it is not a file.

    `read_as` has the dialects of an earlier run, by path. `check_used` refuses a dialect that the source cannot have.
    `store` keeps the texts of a large file in a temporary file; its table has no frame.
    """
    options = _options(text, label, LabelReading(kind, tree, separator, tuple(levels)), need_labels, usual, sides)
    dialects = Dialects(checked_dialect(delimiter, encoding, sheet), read_as)
    options = replace(options, dialects=dialects, empty=empty, store=store)
    origin = _find(source, options, data_dir, what)
    if origin.plain:  # a file or a list has no splits
        split = "train"
    if split not in origin.parts:
        raise NoSplitError(f"{origin.name} has no split '{split}'; it has {', '.join(origin.parts)}")
    table = origin.table(split)
    if need_labels and table.labels is None and split != "unlabelled":
        raise LabelError(f"{origin.name} has no labels in split '{split}'")
    if check_used:
        options.dialects.check_used([table.file], origin.name)
    return table


def read_dataset(
    source: Any,
    *,
    text: Sequence[str] | str | None = None,
    label: Sequence[str] = (),
    tree: str | None = None,
    kind: str | None = None,
    separator: str | None = None,
    levels: Sequence[str] = (),
    need_labels: bool = True,
    data_dir: Path | None = None,
    what: str = "table",
    usual: Columns | None = None,
    sides: Sides = "one",
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    read_as: Mapping[str, Mapping[str, str]] | None = None,
    empty: Empty | None = None,
    check_used: bool = True,
    store: bool = False,
) -> Dataset:
    """All splits of a source (a named or hub dataset, a folder, a DatasetDict); a plain file has only train.

    If all labels of a validation or test split are withheld, as in many public datasets, its labels are None. `store`
    is that of `read_table`.
    """
    options = _options(text, label, LabelReading(kind, tree, separator, tuple(levels)), need_labels, usual, sides)
    dialects = Dialects(checked_dialect(delimiter, encoding, sheet), read_as)
    options = replace(options, dialects=dialects, empty=empty, store=store)
    origin = _find(source, options, data_dir, what)
    if "train" not in origin.parts:
        hint = f"; to score an encoder on it: phasefit evaluate RUN {origin.name}" if origin.card else ""
        raise DataError(f"{origin.name} has no split 'train'; it has {', '.join(origin.parts) or 'none'}{hint}")
    train = origin.table("train")
    origin = origin.as_labelled(train)
    rest = {part: origin.table(part) if part in origin.parts else None for part in PARTS[1:]}
    tables = {"train": train, **rest}
    if check_used:
        options.dialects.check_used([table.file for table in tables.values() if table is not None], origin.name)
    return Dataset(origin.name, card=origin.card, sha256=content_hash(tables.values()), **cast(Any, tables))


def read_test(source: str, *, data_dir: Path | None = None, **options: Any) -> Table:
    """The test table of a dataset, or its only table if it has no test split."""
    parts = source_files(source, data_dir)
    if "test" in parts and "train" not in parts:  # a dataset that is only scored
        return read_table(source, split="test", data_dir=data_dir, **options)
    dataset = read_dataset(source, data_dir=data_dir, **options)
    return dataset.test or dataset.train


def source_files(source: str | Path, data_dir: Path | None = None) -> dict[str, Path]:
    """The files of a path or a named dataset, by split; empty for hub datasets."""
    if str(source).startswith("hub:"):
        return {}
    origin = _find_named(str(source), Options((), (), LabelReading(), need_labels=False, sides="any"), data_dir)
    return {part: content for part, content in origin.parts.items() if isinstance(content, Path)}


@dataclass(frozen=True)
class Source:
    """A recognised source; each part is read when needed."""

    name: str
    parts: Mapping[str, Any]  # a path, a frame, or texts with labels
    options: Options
    card: Card | None = None
    what: str = "table"
    plain: bool = False  # one table without splits

    def table(self, part: str) -> Table:
        """The Table of one part; only train must have labels, and unlabelled never has any."""
        table = self._read(part)
        if part != "unlabelled":
            return table
        return Table(table.name, table.flat().texts, file=table.file, dropped=table.dropped)

    def as_labelled(self, train: Table) -> Source:
        """The same source with the label kind of `train`: a small split may look like another kind."""
        if train.labels is None or self.options.reading.stated_kind:
            return self
        reading = replace(self.options.reading, kind=train.label_kind)
        return replace(self, options=replace(self.options, reading=reading))

    def _read(self, part: str) -> Table:
        content, options = self.parts[part], replace(self.options, may_lack=part != "train")
        if part == "unlabelled":
            sides: Sides = "one" if options.sides == "one" else "any"
            options = replace(options, label=(), reading=LabelReading(), need_labels=False, sides=sides)
        name = self.name if part == "train" else f"{self.name}-{part}"
        if isinstance(content, Path):
            stored = stored_table(content, name, options) if options.store else None
            return table_from_path(content, name, options) if stored is None else stored
        place = Place(self.what if self.what != "table" else name)
        if isinstance(content, Lists):
            return table_from_lists(content, name, options, place)
        return table_from_frame(content, name, options, place)


def _find(source: Any, options: Options, data_dir: Path | None, what: str) -> Source:
    if isinstance(source, str | Path):
        return _find_named(str(source), options, data_dir)
    if isinstance(source, Mapping):
        keys = _parts({str(key): value for key, value in source.items()})
        if "train" in keys:
            return Source(what, {part: content_of(value) for part, value in keys.items()}, options, what=what)
    return Source(what, {"train": content_of(source)}, options, what=what, plain=True)


def _find_named(source: str, options: Options, data_dir: Path | None) -> Source:
    if not source.strip():
        raise DataError("the data source is empty; give a file or the name of a dataset")
    if source.startswith("hub:"):
        return _find_hub(source, options)
    path = Path(source).expanduser()
    try:
        is_file = path.is_file()
        if not is_file and not path.is_dir() and path.exists():
            raise DataError(f"{path} is a pipe or a device, which can be read only once; save its content as a file")
    except OSError:  # a text in place of a file name is too long
        raise cards.not_known(source) from None
    if is_file:
        return Source(stem(path), {"train": path}, options, plain=True)
    card = cards.find_card(path.name if path.is_dir() else source)
    folder = path if path.is_dir() else None
    if card is None and folder is None:
        folder = _unlisted_folder(source, data_dir)
    if card is None:
        files = {part: cards.split_file(folder, part) for part in PARTS} if folder else {}
        parts = {part: file for part, file in files.items() if file}
        if not parts:
            raise DataError(f"{path} is a folder without a train file (train.csv, train.jsonl ...)")
        return Source(path.name, parts, options)
    options = _for_card(card, options, card.text, _card_labels(card, options))
    folder = folder or cards.locate(card, data_dir)
    if folder is None:
        raise cards.not_here(card)
    files = {part: cards.split_file(folder, file) for part, file in card.splits.items()}
    return Source(card.name, {part: file for part, file in files.items() if file}, options, card)


def _unlisted_folder(source: str, data_dir: Path | None) -> Path:
    """A user's folder inside the data folders; a name with an extension must be a file."""
    if Path(source).suffix or "/" in source:
        raise cards.not_known(source) if not Path(source).suffix else DataError(f"no such file: {source}")
    for folder in cards.data_folders(data_dir):
        if (folder / source).is_dir():
            return folder / source
    raise cards.not_known(source)


def _for_card(card: Card, options: Options, text: tuple[str, ...], label: tuple[str, ...]) -> Options:
    """The options, completed with the columns of the card; an error if the card does not suit the options."""
    card.check_handled(sides=options.sides, need_labels=options.need_labels, named=len(options.text))
    one_side = options.sides == "each" or len(options.text) == 1  # the label of a pair is not about one side
    no_labels = card.label_kind is None or (card.several_texts and one_side and not options.label)
    reading = options.reading
    if reading == LabelReading() and not options.label:
        reading = LabelReading(card.label_kind, separator=card.separator)
    text, label = options.text or text, options.label or label
    return replace(options, text=text, label=label, reading=reading, no_labels=no_labels)


def _card_labels(card: Card, options: Options) -> tuple[str, ...]:
    # `--tree /` reads the levels from one column, so a card's several level columns do not apply.
    return () if options.reading.tree and len(card.label) > 1 else card.label


def _find_hub(source: str, options: Options) -> Source:
    from phasefit.data.io.hub import PREFIX, load_hub

    hub = source.removeprefix(PREFIX)
    card = cards.hub_card(hub)
    if card is not None:
        options = _for_card(card, options, as_names(card.hub_text), card.hub_label)
    frames = load_hub(source)
    splits = card.splits if card else {part: part for part in PARTS}
    frames = _parts(frames)
    parts = {part: frames[name] for part, name in splits.items() if name in frames}
    return Source(hub.replace("/", "-").replace(":", "-"), parts, options, card, what=source)


def _parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """The splits by phasefit's names: dev and val are validation."""
    renamed = {other: part for part, others in OTHER_NAMES.items() for other in others}
    return {renamed.get(name, name): value for name, value in content.items()}


def _options(
    text: Sequence[str] | str | None,
    label: Sequence[str] | str,
    reading: LabelReading,
    need_labels: bool,
    usual: Columns | None,
    sides: Sides,
) -> Options:
    if reading.tree == "":
        raise LabelError("--tree is empty; give the separator between the levels of a label, such as --tree /")
    if reading.separator == "":
        raise LabelError("--separator is empty; give the separator between labels, such as --separator ';'")
    return Options(as_names(text), as_names(label), reading, need_labels, usual=usual, sides=sides)
