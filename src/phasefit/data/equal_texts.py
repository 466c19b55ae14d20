"""Equal texts: hashes that tell which are the same, and copies taken as one, so that no split has a text on both sides.

Hashes are 64-bit numbers, so that a million texts are compared in a few megabytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from unicodedata import normalize

import numpy as np

CHUNK = 65_536


def text_hashes(texts: Iterable[str]) -> np.ndarray:
    """One number per text; other texts have other numbers, but for one chance in 10^19."""
    rest, hashes = iter(texts), bytearray()
    while chunk := [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in islice(rest, CHUNK)]:
        hashes += b"".join(chunk)
    return np.frombuffer(hashes, dtype="<i8").astype(np.int64)


def normal_form(text: str) -> str:
    """What two texts share that are the same to a reader: neither case nor white space nor how accents are spelled."""
    composed = text if text.isascii() else normalize("NFC", text)
    return " ".join(composed.casefold().split())


def same_text_hashes(texts: Iterable[str]) -> np.ndarray:
    """One number per text, equal for texts of the same normal form."""
    return text_hashes(map(normal_form, texts))


def row_hashes(sides: Sequence[np.ndarray]) -> np.ndarray:
    """One number per row out of the hashes of its texts; of rows with one text, that text's own."""
    mixed = sides[0].view(np.uint64)
    for side in sides[1:]:  # the multiple makes (a, b) another row than (b, a)
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + side.view(np.uint64)
    return mixed.view(np.int64)


def are_among(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which of the hashes are known ones: `np.isin` by sorting, which for random numbers is many times as fast."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    ascending = np.sort(known)
    place = np.minimum(np.searchsorted(ascending, hashes), len(ascending) - 1)
    return np.asarray(ascending[place] == hashes)


@dataclass(frozen=True)
class DistinctTexts:
    """The different texts of a table, by first appearance. Classes are codes without gaps, one per row."""

    standing: np.ndarray  # per text, the row that stands for it
    copies: np.ndarray  # per text, how many rows have it
    of: np.ndarray  # per row, the number of its text

    @classmethod
    def of_rows(cls, same: np.ndarray, classes: np.ndarray, sizes: np.ndarray) -> DistinctTexts:
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
