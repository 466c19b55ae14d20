"""Cards of named datasets, and the location of their files on this machine.

A card describes a dataset, its origin and its columns.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from phasefit.data.columns import Sides
from phasefit.data.io.files import file_format
from phasefit.data.labels.kinds import LABEL_KINDS
from phasefit.errors import DataError, LabelError

HERE = Path(__file__).parent.parent
PACKAGED = HERE / "packaged"
VARIABLE = "PHASEFIT_DATA"
SEVERAL_TEXTS = {  # kinds with more than one text per row
    "pair": "pairs of texts",
    "score": "pairs of texts with scores",
    "triple": "triples of texts without labels",
}
OTHER_NAMES = {"pair": "single", "triple": None, "none": None}  # label kinds, where the dataset kind has another name


@dataclass(frozen=True)
class Card:
    """The columns, splits, kind and origin of a named dataset.

    `splits` maps each split to its file; `hub_text` and `hub_label` are the columns on the hub if they differ.
    """

    name: str
    title: str
    description: str
    folder: str
    kind: str = "single"  # the label kind, or pair, triple or none
    text: tuple[str, ...] = ("text",)
    label: tuple[str, ...] = ("label",)
    separator: str | None = None  # between several labels in one cell (multi)
    classes: int | None = None
    rows: Mapping[str, int] = field(default_factory=dict)
    splits: Mapping[str, str] = field(
        default_factory=lambda: {"train": "train", "validation": "validation", "test": "test"}
    )
    hub: str | None = None
    hub_text: str | None = None
    hub_label: tuple[str, ...] = ()
    licence: str = "not stated"
    source: str = ""
    notes: str = ""

    @property
    def hub_source(self) -> str | None:
        """The hub source of the same data, with the column options it needs; None if it is not on the hub."""
        if self.hub is None:
            return None
        options = "".join(f" --label {name}" for name in self.hub_label)
        return f"hub:{self.hub}{options}"

    @property
    def main_part(self) -> str:
        """The split that describes it: train, or the only one of a dataset that is only scored."""
        return "train" if "train" in self.splits else next(iter(self.splits))

    @property
    def has_classes(self) -> bool:
        """Whether its labels are classes."""
        return self.label_kind is not None and LABEL_KINDS[self.label_kind].has_classes

    @property
    def several_texts(self) -> bool:
        """Whether a row has more than one text."""
        return self.kind in SEVERAL_TEXTS

    @property
    def label_kind(self) -> str | None:
        """The kind of its labels; None if it has none."""
        return OTHER_NAMES.get(self.kind, self.kind)

    def check_handled(self, *, sides: Sides = "one", need_labels: bool = True, named: int = 0) -> None:
        """Raise if this kind of dataset does not suit the request; `named` is the number of text columns named.

        Triples have no labels, so they suit only recipes that learn from pairs or from each side separately.
        """
        content = f"dataset '{self.name}' holds {SEVERAL_TEXTS.get(self.kind)} (kind '{self.kind}')"
        if self.several_texts and sides == "one" and (need_labels or named != 1):
            recipes = "--recipe mnr" if self.kind == "triple" else "--recipe finetune or --recipe mnr"
            raise LabelError(f"{content}, but single texts are needed here; use {recipes}")
        if self.kind == "triple" and sides == "two" and need_labels:
            raise LabelError(f"{content}; to learn from triples use --recipe mnr")
        if self.kind == "none" and need_labels:
            raise LabelError(
                f"dataset '{self.name}' holds texts without labels; to learn from them use --recipe simcse or mirror"
            )
        if self.kind not in SEVERAL_TEXTS and sides == "pairs" and named < 2:
            raise DataError(
                f"dataset '{self.name}' holds single texts, but pairs of texts are needed here; "
                "'phasefit datasets' lists those with pairs or triples"
            )


def read_card(path: Path) -> Card:
    """The card in a TOML file; DataError for an unknown field."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = set(data) - {item.name for item in fields(Card)}
    if unknown:
        raise DataError(f"{path.name}: unknown field '{min(unknown)}'")
    lists = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
    return Card(**{**data, **lists})


@cache
def _cards() -> dict[str, Card]:
    cards = [read_card(path) for path in sorted((HERE / "cards").glob("*.toml"), key=lambda path: path.stem)]
    return {card.name: card for card in cards}


def named_datasets() -> tuple[Card, ...]:
    """The cards of all named datasets, by name."""
    return tuple(_cards().values())


def find_card(name: str) -> Card | None:
    """The card with this name; the name of its folder works too."""
    cards = _cards()
    return cards.get(name) or next((card for card in cards.values() if card.folder == name), None)


def hub_card(hub: str) -> Card | None:
    """The first card that describes this hub id (`owner/name` or `owner/name:config`)."""
    return next((card for card in named_datasets() if card.hub == hub), None)


def data_folders(data_dir: Path | None = None) -> list[Path]:
    """The folders to search for named datasets, in order: packaged, `data_dir`, PHASEFIT_DATA."""
    if data_dir and not Path(data_dir).is_dir():
        raise DataError(f"--data-dir {data_dir}: there is no such folder")
    variable = os.environ.get(VARIABLE)
    return [PACKAGED, *([Path(data_dir)] if data_dir else []), *([Path(variable)] if variable else [])]


def locate(card: Card, data_dir: Path | None = None) -> Path | None:
    """The folder with this dataset's files, or None; without a training set, those of its first split."""
    folders = (folder / card.folder for folder in data_folders(data_dir))
    needed = card.splits[card.main_part]
    return next((folder for folder in folders if folder.is_dir() and split_file(folder, needed)), None)


def split_file(folder: Path, split: str) -> Path | None:
    """The file of a split in a folder: `train.csv.gz`, `validation.jsonl` ..."""
    wanted = (split, *{"validation": ("valid", "val", "dev")}.get(split, ()))
    for name in wanted:
        for path in sorted(folder.glob(f"{name}.*")):
            try:
                file_format(path, reading=True)
            except DataError:
                continue
            return path
    return None


def not_here(card: Card) -> DataError:
    """The error for a known dataset whose files are not on this machine."""
    hub = f", or use {card.hub_source}" if card.hub_source else ""
    return DataError(
        f"dataset '{card.name}' is known but its files are not on this machine; "
        f"set {VARIABLE} (or --data-dir) to the folder that holds '{card.folder}'{hub}"
    )


def not_known(name: str) -> DataError:
    """The error for a source that is neither a file nor a named dataset."""
    from difflib import get_close_matches

    names = sorted({*_cards(), *(card.folder for card in named_datasets())})
    near = get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`phasefit datasets` lists all datasets."
    return DataError(
        f"there is no file or dataset '{name:.80}'; {hint} "
        f"Set {VARIABLE} to a folder of datasets, or write hub:owner/name for one on the hub"
    )
