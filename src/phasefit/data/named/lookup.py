"""Datasets with a name: their cards, and where their files are on this machine."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from phasefit.data.io.files import file_format
from phasefit.data.named.card import Card, read_card
from phasefit.errors import DataError

HERE = Path(__file__).parent.parent
PACKAGED = HERE / "packaged"
VARIABLE = "PHASEFIT_DATA"


@cache
def _cards() -> dict[str, Card]:
    cards = [read_card(path) for path in sorted((HERE / "cards").glob("*.toml"))]
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
    """Where named datasets are looked for, in order: packaged, the folder given, the folder of PHASEFIT_DATA."""
    if data_dir and not Path(data_dir).is_dir():
        raise DataError(f"--data-dir {data_dir}: there is no such folder")
    variable = os.environ.get(VARIABLE)
    return [PACKAGED, *([Path(data_dir)] if data_dir else []), *([Path(variable)] if variable else [])]


def locate(card: Card, data_dir: Path | None = None) -> Path | None:
    """The folder that holds this dataset's files, or None."""
    folders = (folder / card.folder for folder in data_folders(data_dir))
    return next((folder for folder in folders if folder.is_dir() and split_file(folder, "train")), None)


def split_file(folder: Path, split: str) -> Path | None:
    """The file of a split in a folder: `train.csv.gz`, `validation.jsonl` ..."""
    wanted = (split, *{"validation": ("valid", "val", "dev")}.get(split, ()))
    for name in wanted:
        for path in sorted(folder.glob(f"{name}.*")):
            try:
                file_format(path)
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
    """The error for a source that is neither a file nor a known dataset."""
    from difflib import get_close_matches

    names = sorted({*_cards(), *(card.folder for card in named_datasets())})
    near = get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "`phasefit datasets` lists the names."
    return DataError(
        f"no file and no dataset '{name:.80}'; {hint} "
        f"Set {VARIABLE} to a folder of datasets, or write hub:owner/name for one on the hub"
    )
