"""Copies: rows with the same text, taken as one, so that a split never has a text on both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Texts:
    """The different texts of a table, by first appearance. Classes are codes without gaps, one per row."""

    standing: np.ndarray  # per text, the row that stands for it
    copies: np.ndarray  # per text, how many rows have it
    of: np.ndarray  # per row, the number of its text

    @classmethod
    def of_rows(cls, same: np.ndarray, classes: np.ndarray, sizes: np.ndarray) -> Texts:
        """Rows with one number in `same` (from 0, no gaps) are one text; a row of its smallest class stands for it."""
        order = np.lexsort((np.arange(len(same)), sizes[classes], same))
        starts = np.flatnonzero(np.diff(same[order], prepend=-1))
        by_appearance = np.argsort(np.minimum.reduceat(order, starts))
        number = np.empty(len(starts), dtype=np.int64)
        number[by_appearance] = np.arange(len(starts))
        copies = np.diff(np.append(starts, len(order)))
        return cls(order[starts][by_appearance], copies[by_appearance], number[same])

    def fill(self, classes: np.ndarray, share: float) -> np.ndarray:
        """Which texts have more copies than this share of their class has rows: held out, they would be all of it."""
        owner = classes[self.standing]
        rows = np.bincount(owner, weights=self.copies, minlength=int(classes.max()) + 1)
        return np.asarray(self.copies > share * rows[owner])

    def to_keep(self, classes: np.ndarray, trained: np.ndarray) -> np.ndarray:
        """The first text of each class without a trained row: its texts went away with other classes'."""
        names, first = np.unique(classes, return_index=True)
        return np.asarray(self.of[first[~np.isin(names, classes[trained])]])

    def lone(self, classes: np.ndarray) -> int:
        """How many classes have a single text, however often."""
        least = np.full(int(classes.max()) + 1, len(self.of), dtype=np.int64)
        most = np.full_like(least, -1)
        np.minimum.at(least, classes, self.of)
        np.maximum.at(most, classes, self.of)
        return int((least == most).sum())
