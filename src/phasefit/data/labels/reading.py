"""Detect the kind of a table's labels and read them as that kind: names, paths, sets or scores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from phasefit.data.checks import Place, is_missing
from phasefit.data.labels.kinds import LABEL_KINDS, USUAL
from phasefit.data.table import Label
from phasefit.errors import LabelError


@dataclass(frozen=True)
class LabelReading:
    """Options for reading labels, from the user or a card; those not set are detected."""

    kind: str | None = None  # a name in LABEL_KINDS
    tree: str | None = None  # the separator between the levels of a label, e.g. "/"
    separator: str | None = None  # the separator between several labels in one cell
    levels: tuple[str, ...] = ()  # the names of an ordered scale, lowest first

    def __post_init__(self) -> None:
        """Raise LabelError if options contradict each other."""
        accepted = () if self.kind is None else LABEL_KINDS[self.kind].options
        for option, kind in self._kind_of_option.items():
            if self.kind is not None and option not in accepted:
                raise LabelError(f"--{option} is for labels of kind '{kind}', but --kind is '{self.kind}'")
        if self.kind is None and len({*self._kind_of_option.values()}) > 1:
            first, second, *_ = self._kind_of_option
            raise LabelError(f"--{first} and --{second} are for labels of different kinds; use one of them")
        if len(self.levels) == 1 or len(set(self.levels)) < len(self.levels):
            raise LabelError("--levels needs at least two different levels, lowest first, e.g. --levels bad,fair,good")

    @property
    def _kind_of_option(self) -> dict[str, str]:
        """The given options, each with the first kind that accepts it."""
        options = [name for name in ("tree", "separator", "levels") if getattr(self, name)]
        return {name: next(kind for kind in LABEL_KINDS if name in LABEL_KINDS[kind].options) for name in options}

    @property
    def stated_kind(self) -> str | None:
        """The kind if the options determine it, else None."""
        return self.kind or next(iter(self._kind_of_option.values()), None)


def read_labels(values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
    """The labels of a table's rows, of the stated or detected kind."""
    return read_kind(values, place, how)[1]


def read_kind(values: Sequence[Any], place: Place, how: LabelReading) -> tuple[str, list[Label]]:
    """The kind of a table's labels, and the labels."""
    kind = how.stated_kind or detect_kind(values)
    return kind, LABEL_KINDS[kind].read(values, place, how)


def detect_kind(values: Sequence[Any]) -> str:
    """The kind of these labels: lists are several labels, tuples paths, decimal numbers scores."""
    different = _distinct(values)
    return next((name for name in LABEL_KINDS if LABEL_KINDS[name].recognises(values, different)), USUAL)


def _distinct(values: Sequence[Any]) -> Collection[Any]:
    """The distinct non-missing labels; empty if some are not hashable, such as lists."""
    try:
        return {value for value in values if not is_missing(value)}
    except TypeError:
        return ()
