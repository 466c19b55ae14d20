"""The rows of the few-shot benchmark: N training rows per class, the same for all contestants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from phasefit.data import Dataset

PART = "benchmark"


@dataclass(frozen=True)
class Rows:
    """Texts and their labels, as strings."""

    texts: list[str]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.texts)


def read(name: str, data_dir: Path | None = None) -> Dataset:
    """A named dataset or a file."""
    from phasefit.data import read_dataset

    return read_dataset(name, data_dir=data_dir)


def draw(dataset: Dataset, per_class: int, test_rows: int | None, seed: int) -> tuple[Rows, Rows]:
    """`per_class` training rows of each class (all rows of smaller ones), and the test split or the remaining rows."""
    from phasefit.data import few_shot
    from phasefit.seeds import generator

    labels = as_strings(dataset.train.labels or ())
    taken = few_shot(np.unique(labels, return_inverse=True)[1], per_class, seed)
    train = Rows([dataset.train.texts[row] for row in taken], [labels[row] for row in taken])
    if dataset.test is not None:
        test = Rows(list(dataset.test.texts), as_strings(dataset.test.labels or ()))
    else:
        rest = np.setdiff1d(np.arange(len(labels)), taken)
        test = Rows([dataset.train.texts[row] for row in rest], [labels[row] for row in rest])
    if test_rows is not None and test_rows < len(test):
        kept = np.sort(generator(seed, PART, "test").permutation(len(test))[:test_rows])
        test = Rows([test.texts[row] for row in kept], [test.labels[row] for row in kept])
    return train, test


def as_strings(labels: Sequence[Any]) -> list[str]:
    """Labels as strings; tree paths are joined with slashes."""
    return ["/".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in labels]
