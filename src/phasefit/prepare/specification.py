"""The input of `prepare`: which tables, how their labels are read, and which rows train, validate and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.errors import DataError, did_you_mean

UNSEEN = ("error", "drop", "keep")
EMPTY = ("refuse", "drop")


@dataclass(frozen=True)
class DataSpec:
    """The tables of a run. Sources are paths, dataset names, `hub:owner/name`, frames or lists."""

    source: Any
    validation: Any = None
    test: Any = None
    unlabelled: Any = None  # more texts for the phases that need no labels
    text: tuple[str, ...] = ()  # the text column, detected by default; several columns are a pair or a triple
    label: tuple[str, ...] = ()  # the label column; several are the levels of a tree
    kind: str | None = None  # label kind: single, multi, tree or score; detected by default
    tree: str | None = None  # the separator of the levels inside one label, e.g. "/"
    separator: str | None = None  # the separator of several labels in one cell; default: "|"
    levels: tuple[str, ...] = ()  # the names of an ordered scale, lowest first
    data_dir: Path | None = None  # the folder searched first for named datasets
    delimiter: str | None = None  # between the columns of CSV and TSV; detected by default, as are the next two
    encoding: str | None = None  # of text files
    sheet: str | None = None  # of Excel files
    read_as: Mapping[str, Any] | None = None  # how the files were read before, by path, if the run is resumed
    empty: str = "refuse"  # rows with an empty text or label: "refuse" or "drop" them

    def __post_init__(self) -> None:
        if self.empty not in EMPTY:
            raise DataError(f"--empty {self.empty}: unknown choice; {did_you_mean(str(self.empty), EMPTY)}")


@dataclass(frozen=True)
class SplitSpec:
    """Which rows of the tables are used, and how."""

    validation_size: float = 0.2  # share split off when there is no validation table
    test_size: float = 0.1
    rows: int | None = None  # size of a sample of the training rows, stratified by label
    validation_rows: int | None = None  # size of a sample of the given validation rows
    test_rows: int | None = None  # size of a sample of the given test rows
    score_test: bool = True  # False: test rows are split off but not scored, for choices made on validation
    classes: tuple[str, ...] = ()  # use only rows of these classes
    top_classes: int | None = None  # use only rows of the N most frequent classes
    fold: tuple[int, int] | None = None  # (2, 5): the second fifth of the training table is the test set
    unseen: str = "error"  # labels missing from train: "error", "drop" those rows, "keep" them as mistakes
    leaked: str = "keep"  # texts both trained on and scored: "keep", "drop-scored" or "drop-train"

    def __post_init__(self) -> None:
        if self.unseen not in UNSEEN:
            raise DataError(f"--unseen {self.unseen}: unknown choice; {did_you_mean(str(self.unseen), UNSEEN)}")
        if self.fold is not None and not (isinstance(self.fold, tuple) and len(self.fold) == 2):
            raise DataError(f"--fold must be two numbers such as (2, 5), not {self.fold!r}")
