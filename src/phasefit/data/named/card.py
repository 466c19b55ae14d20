"""A Card: what is known about a named dataset, from `cards/NAME.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from phasefit.data.columns import Sides
from phasefit.data.labels.kinds import LABEL_KINDS
from phasefit.errors import DataError, LabelError

SEVERAL_TEXTS = {  # the kinds whose rows have more than one text
    "pair": "pairs of texts",
    "score": "pairs of texts with scores",
    "triple": "triples of texts without labels",
}
OTHER_NAMES = {"pair": "single", "triple": None}  # of the kinds that are not called by their labels


@dataclass(frozen=True)
class Card:
    """Where a named dataset's columns and splits are, what kind it is, where it comes from.

    `splits` says which file feeds which use; `hub_text` and `hub_label` are the columns on the hub where they differ.
    """

    name: str
    title: str
    description: str
    folder: str
    kind: str = "single"  # of its labels, or pair or triple
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
        """How the same data is asked for on the hub, with the column options it needs; None where it is not there."""
        if self.hub is None:
            return None
        options = "".join(f" --label {name}" for name in self.hub_label)
        return f"hub:{self.hub}{options}"

    @property
    def has_classes(self) -> bool:
        """Whether its labels are classes: of a text, of several per text, or of a pair."""
        return self.label_kind is not None and LABEL_KINDS[self.label_kind].has_classes

    @property
    def several_texts(self) -> bool:
        """Whether a row has more than one text."""
        return self.kind in SEVERAL_TEXTS

    @property
    def label_kind(self) -> str | None:
        """The kind of its labels."""
        return OTHER_NAMES.get(self.kind, self.kind)

    def check_handled(self, *, sides: Sides = "one", need_labels: bool = True, named: int = 0) -> None:
        """Raise, by name, for the kinds that cannot be used as asked; `named` is how many text columns the user named.

        Triples are for who learns from texts beside each other or from every side alone: they have no labels.
        """
        content = f"dataset '{self.name}' holds {SEVERAL_TEXTS.get(self.kind)} (kind '{self.kind}')"
        if self.several_texts and sides == "one" and (need_labels or named != 1):
            other = "mnr learns from triples" if self.kind == "triple" else "finetune and mnr learn from pairs"
            raise LabelError(f"{content}, and single texts are needed here; --recipe {other}")
        if self.kind == "triple" and sides == "two" and need_labels:
            raise LabelError(f"{content}; --recipe mnr learns from triples")
        if self.kind not in SEVERAL_TEXTS and sides == "pairs" and named < 2:
            raise DataError(
                f"dataset '{self.name}' holds single texts, and pairs of texts are needed here; "
                "'phasefit datasets' tells which have pairs or triples"
            )


def read_card(path: Path) -> Card:
    """The card in a TOML file; an unknown field is an error."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = set(data) - {item.name for item in fields(Card)}
    if unknown:
        raise DataError(f"{path.name}: unknown field '{min(unknown)}'")
    lists = {key: tuple(value) for key, value in data.items() if isinstance(value, list)}
    return Card(**{**data, **lists})
