"""A Table: texts with, perhaps, their labels, in the order they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Label: TypeAlias = str | int | bool | tuple[str | int, ...]
"""A raw label: a name, a number, or (tree) the path of names from the root to the leaf."""


@dataclass(frozen=True)
class Table:
    """Texts, labels (None where the table has none) and the frame they came from, for `predict` to keep its columns."""

    name: str
    texts: Sequence[str]
    labels: Sequence[Label] | None = None
    frame: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: np.ndarray) -> Table:
        """The rows with these numbers, in this order."""
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        frame = None if self.frame is None else self.frame.iloc[rows].reset_index(drop=True)
        return Table(self.name, [self.texts[row] for row in rows], labels, frame)
