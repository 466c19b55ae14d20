"""Texts as 64-bit numbers, so that a million of them are compared in a few megabytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
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
