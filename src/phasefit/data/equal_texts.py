"""Find equal texts by hash, and group the copies of a text, so that no text is in two parts of a split.

Hashes have 64 bits: comparing a million texts takes a few megabytes.
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
    """One number per text; two different texts collide with a probability of about 1 in 10^19."""
    rest, hashes = iter(texts), bytearray()
    while chunk := [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in islice(rest, CHUNK)]:
        hashes += b"".join(chunk)
    return np.frombuffer(hashes, dtype="<i8").astype(np.int64)


def normal_form(text: str) -> str:
    """The text without differences in case, white space and the encoding of accents."""
    composed = text if text.isascii() else normalize("NFC", text)
    return " ".join(composed.casefold().split())


def same_text_hashes(texts: Iterable[str]) -> np.ndarray:
    """One number per text, equal for texts with the same normal form."""
    return text_hashes(map(normal_form, texts))


def row_hashes(sides: Sequence[np.ndarray]) -> np.ndarray:
    """One number per row, combined from the hashes of its texts; with one text per row, the hash of that text."""
    mixed = sides[0].view(np.uint64)
    for side in sides[1:]:  # the factor makes (a, b) differ from (b, a)
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + side.view(np.uint64)
    return mixed.view(np.int64)


def are_among(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mask of the hashes that are in `known`: like `np.isin`, but by sorting, which is much faster here."""
    if not len(known):
        return np.zeros(len(hashes), dtype=bool)
    ascending = np.sort(known)
    position = np.minimum(np.searchsorted(ascending, hashes), len(ascending) - 1)
    return np.asarray(ascending[position] == hashes)


@dataclass(frozen=True)
class DistinctTexts:
    """The distinct texts of a table, by first appearance. Classes are codes without gaps, one per row."""

    representative: np.ndarray  # per text, the row that represents it
    copies: np.ndarray  # per text, the number of rows with it
    of_row: np.ndarray  # per row, the number of its text

    @classmethod
    def of_rows(cls, same: np.ndarray, classes: np.ndarray, sizes: np.ndarray) -> DistinctTexts:
        """Rows with equal numbers in `same` (from 0, no gaps) share a text; a row of its rarest class represents it."""
        order = np.lexsort((np.arange(len(same)), sizes[classes], same))
        starts = np.flatnonzero(np.diff(same[order], prepend=-1))
        by_appearance = np.argsort(np.minimum.reduceat(order, starts))
        number = np.empty(len(starts), dtype=np.int64)
        number[by_appearance] = np.arange(len(starts))
        copies = np.diff(np.append(starts, len(order)))
        return cls(order[starts][by_appearance], copies[by_appearance], number[same])

    def too_frequent(self, classes: np.ndarray, share: float) -> np.ndarray:
        """Mask of texts with more copies than this share of their class: held out, they would fill the whole part."""
        class_of_text = classes[self.representative]
        rows = np.bincount(class_of_text, weights=self.copies, minlength=int(classes.max()) + 1)
        return np.asarray(self.copies > share * rows[class_of_text])

    def to_keep(self, classes: np.ndarray, trained: np.ndarray) -> np.ndarray:
        """The first text of each class without a training row: its texts were held out with those of other classes."""
        names, first = np.unique(classes, return_index=True)
        return np.asarray(self.of_row[first[~np.isin(names, classes[trained])]])

    def lone(self, classes: np.ndarray) -> int:
        """The number of classes with a single distinct text."""
        least = np.full(int(classes.max()) + 1, len(self.of_row), dtype=np.int64)
        most = np.full_like(least, -1)
        np.minimum.at(least, classes, self.of_row)
        np.maximum.at(most, classes, self.of_row)
        return int((least == most).sum())
