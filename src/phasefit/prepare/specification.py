"""What `prepare` is asked for: which tables, how their labels are read, and which rows train, validate and test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import DataError, did_you_mean

UNSEEN = ("error", "drop", "keep")


@dataclass(frozen=True)
class DataSpec:
    """The tables of a run. Sources are paths, dataset names, `hub:owner/name`, frames or lists."""

    source: Any
    validation: Any = None
    test: Any = None
    unlabelled: Any = None  # more texts for the phases that need no labels
    text: tuple[str, ...] = ()  # the text column, found by its usual names when not given; several: a pair, a triple
    label: tuple[str, ...] = ()  # the label column; several are the levels of a tree
    kind: str | None = None  # of labels: single, multi, tree or score; found out when not given
    tree: str | None = None  # what separates the levels inside one label, e.g. "/"
    separator: str | None = None  # what separates several labels in one cell; "|" when not given
    levels: tuple[str, ...] = ()  # the names of an ordered scale, lowest first
    data_dir: Path | None = None  # where named datasets are looked for first


@dataclass(frozen=True)
class SplitSpec:
    """Which rows of the tables are used, and for what."""

    validation_size: float = 0.2  # share split off where no validation table is given
    test_size: float = 0.1
    rows: int | None = None  # use a sample of this many training rows, stratified where they have labels
    validation_rows: int | None = None  # choose on a sample of this many of the validation rows that were given
    test_rows: int | None = None  # score on a sample of this many of the test rows that were given
    score_test: bool = True  # False: test rows are split off and left alone, for whoever chooses on validation
    classes: tuple[str, ...] = ()  # use only the rows of these classes
    top_classes: int | None = None  # use only the rows of the N most frequent classes
    fold: tuple[int, int] | None = None  # (2, 5): the second fifth of the training table is the test, splits are unused
    unseen: str = "error"  # labels only validation or test has: "error", "drop" those rows, "keep" them as mistakes
    leaked: str = "keep"  # texts both trained on and scored: "keep", or "drop-scored" or "drop-train" those rows

    def __post_init__(self) -> None:
        if self.unseen not in UNSEEN:
            raise DataError(f"--unseen {self.unseen}: unknown choice; {did_you_mean(str(self.unseen), UNSEEN)}")
        if self.fold is not None and not (isinstance(self.fold, tuple) and len(self.fold) == 2):
            raise DataError(f"a fold is two numbers such as (2, 5), not {self.fold!r}")
