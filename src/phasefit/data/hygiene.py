"""Hygiene: problems of a dataset that are worth checking before training.

Texts are equal if they differ only in case and white space; pairs and triples are compared as whole rows. Counting
uses 64-bit hashes of the texts, so time and memory are linear in the number of rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from phasefit.data.equal_texts import are_among, same_text_hashes
from phasefit.data.table import Label, Table, label_name

EXAMPLES = 5  # conflicts shown in full
ROWS_SHOWN = 10
LONGEST_SHOWN = 120  # characters of an example text
NEAR_EMPTY = "fewer than two letters or digits"
_TWO_LETTERS = re.compile(r"[^\W_].*?[^\W_]", re.DOTALL)


@dataclass(frozen=True)
class Lengths:
    """Text lengths in words or tokens; the histogram has (from, to, texts), each bin twice as wide as the last."""

    least: int
    median: float
    mean: float
    p95: int
    most: int
    histogram: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Conflict:
    """A text with different labels in several rows: the first row of each label."""

    text: str
    rows: tuple[int, ...]  # numbered from 1, as in the file
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Classes:
    """The classes of a part; `missing` are classes that only other parts have."""

    sizes: dict[str, int]  # largest first
    imbalance: float  # largest / smallest
    with_one_row: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Pairs:
    """Problems of pairs and triples; rows are numbered from 1, as in the file.

    Phases that learn from pairs use the partners of other rows as negatives. If several rows share an anchor or a
    partner, texts that belong together are pushed apart.
    """

    alike: int  # rows with two equal texts
    alike_rows: tuple[int, ...]  # the first few of them
    shared_anchors: int  # rows that share their anchor with another row
    shared_partners: int  # rows that share their partner with another row
    partners: int  # distinct partners


@dataclass(frozen=True)
class Part:
    """One table. `repeated` rows have the text of an earlier row; rows are numbered from 1, as in the file."""

    rows: int
    repeated: int
    near_empty: int
    near_empty_rows: tuple[int, ...]
    words: Lengths
    conflicting_texts: int = 0
    conflicting_rows: int = 0
    conflicts: tuple[Conflict, ...] = ()
    classes: Classes | None = None
    pairs: Pairs | None = None  # for tables with several texts per row


@dataclass(frozen=True)
class Overlap:
    """Rows of a part whose text is also in another part, and how many of them have a different label there."""

    part: str
    other: str
    rows: int
    other_label: int


@dataclass(frozen=True)
class Hygiene:
    """Each part by name, and the overlaps between parts."""

    parts: dict[str, Part]
    overlaps: tuple[Overlap, ...] = field(default=())

    @property
    def repeated(self) -> int:
        """The number of rows that repeat an earlier row of their part."""
        return sum(part.repeated for part in self.parts.values())

    def leaked(self, part: str) -> int:
        """The number of rows of a part whose text is also in train."""
        return sum(overlap.rows for overlap in self.overlaps if (overlap.part, overlap.other) == (part, "train"))

    def to_json(self) -> dict[str, Any]:
        """Plain data for `data.json`."""
        return asdict(self)


def hygiene(tables: Mapping[str, Table | None]) -> Hygiene:
    """Check all parts (train, validation, test, unlabelled) of a dataset; parts that are None are skipped."""
    present = {name: table for name, table in tables.items() if table is not None and len(table)}
    codes, names = _codes(present)
    each = {one for table in present.values() for one in _each(table)}
    parts = {name: _part(table, codes.get(name), names, each) for name, table in present.items()}
    pairs = [("validation", "train"), ("test", "train"), ("test", "validation")]
    overlaps = [
        _overlap((one, present[one], codes.get(one)), (other, present[other], codes.get(other)))
        for one, other in pairs
        if one in present and other in present
    ]
    return Hygiene(parts, tuple(overlaps))


def lengths(values: np.ndarray) -> Lengths:
    """The distribution of these lengths (at least one)."""
    return Lengths(
        int(values.min()),
        float(np.median(values)),
        round(float(values.mean()), 2),
        int(np.percentile(values, 95, method="inverted_cdf")),
        int(values.max()),
        _histogram(values),
    )


def shared(table: Table, others: Sequence[Table | None]) -> np.ndarray:
    """Mask of the rows whose text (pairs and triples: all their texts) is also in one of the other tables."""
    hashes = [other.same for other in others if other is not None]
    return are_among(table.same, np.concatenate(hashes)) if hashes else np.zeros(len(table), dtype=bool)


def _part(table: Table, codes: np.ndarray | None, names: Sequence[str], each: set[str]) -> Part:
    order = np.argsort(table.same, kind="stable")
    starts = np.flatnonzero(np.diff(table.same[order], prepend=table.same[order[0]] ^ 1))
    near_empty = {row for side in table.sides for row, text in enumerate(side) if not _TWO_LETTERS.search(text)}
    empty = np.array(sorted(near_empty), dtype=np.int64)
    words = np.fromiter((len(text.split()) for text in table.all_texts), dtype=np.int32)
    labelled: dict[str, Any] = {}
    if codes is not None:
        labelled = {"classes": _classes(table, codes, names, each), **_conflicts(table, codes, names, order, starts)}
    return Part(
        rows=len(table),
        repeated=len(table) - len(starts),
        near_empty=len(empty),
        near_empty_rows=tuple(table.row_numbers(empty[:ROWS_SHOWN]).tolist()),
        words=lengths(words),
        pairs=_pairs(table) if table.others else None,
        **labelled,
    )


def _pairs(table: Table) -> Pairs:
    sides = [same_text_hashes(side) for side in table.sides]
    alike = np.flatnonzero(np.logical_or.reduce([one == other for one, other in combinations(sides, 2)]))
    anchors, partners = (np.unique(side, return_counts=True)[1] for side in sides[:2])
    return Pairs(
        len(alike),
        tuple(table.row_numbers(alike[:ROWS_SHOWN]).tolist()),
        shared_anchors=int(anchors[anchors > 1].sum()),
        shared_partners=int(partners[partners > 1].sum()),
        partners=len(partners),
    )


def _codes(tables: Mapping[str, Table]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Label codes of each labelled table, the same in all tables, and the names by code."""
    known: dict[tuple[type, Label], int] = {}
    by_name: dict[str, int] = {}
    codes = {}
    for part, table in tables.items():
        if table.labels is None:
            continue
        for label in table.labels:
            if (type(label), label) not in known:
                # "1" from a CSV and 1 from a list are the same class.
                known[type(label), label] = by_name.setdefault(label_name(label), len(by_name))
        codes[part] = np.fromiter((known[type(label), label] for label in table.labels), np.int64, len(table))
    return codes, list(by_name)


def _each(table: Table) -> Iterator[str]:
    """The single labels of texts with several labels."""
    return (str(part) for label in table.labels or () if isinstance(label, frozenset) for part in label)


def _classes(table: Table, codes: np.ndarray, names: Sequence[str], each: set[str]) -> Classes | None:
    """The class sizes; None for scores. With several labels per text, `each` label is counted."""
    first = table.labels[0] if table.labels else None
    if isinstance(first, float):
        return None
    counts = np.bincount(codes, minlength=len(names)).tolist()
    sizes = {name: rows for name, rows in zip(names, counts, strict=True) if rows}
    if isinstance(first, frozenset):
        sizes, names = dict(Counter(_each(table))), sorted(each)
        if not sizes:
            return None
    sizes = dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
    return Classes(
        sizes,
        round(max(sizes.values()) / min(sizes.values()), 2),
        tuple(name for name, rows in sizes.items() if rows == 1),
        tuple(sorted(set(names) - set(sizes))),
    )


def _conflicts(
    table: Table, codes: np.ndarray, names: Sequence[str], order: np.ndarray, starts: np.ndarray
) -> dict[str, Any]:
    """Texts with more than one label; `order` groups the copies of a text, and each group begins at one of `starts`."""
    sizes = np.diff(np.append(starts, len(order)))
    differ = np.minimum.reduceat(codes[order], starts) != np.maximum.reduceat(codes[order], starts)
    texts = np.flatnonzero(differ)
    shown = texts[np.argsort(order[starts[texts]])][:EXAMPLES]
    return {
        "conflicting_texts": len(texts),
        "conflicting_rows": int(sizes[texts].sum()),
        "conflicts": tuple(_conflict(table, codes, names, order[starts[t] : starts[t] + sizes[t]]) for t in shown),
    }


def _conflict(table: Table, codes: np.ndarray, names: Sequence[str], rows: np.ndarray) -> Conflict:
    first = np.sort(np.unique(codes[rows], return_index=True)[1])[:EXAMPLES]
    text = " ".join(table.texts[rows[0]].split())
    return Conflict(
        text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…",
        tuple(table.row_numbers(rows[first]).tolist()),
        tuple(names[code] for code in codes[rows[first]]),
    )


def _overlap(one: tuple[str, Table, np.ndarray | None], other: tuple[str, Table, np.ndarray | None]) -> Overlap:
    (name, table, codes), (other_name, other_table, other_codes) = one, other
    both = shared(table, [other_table])
    differ = 0
    if codes is not None and other_codes is not None:
        agree = are_among(_labelled(table.same, codes)[both], _labelled(other_table.same, other_codes))
        differ = int((~agree).sum())
    return Overlap(name, other_name, int(both.sum()), differ)


def _labelled(same: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Hashes of texts with their labels: an odd multiple of the code makes equal texts with other labels differ."""
    return same.view(np.uint64) + codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _histogram(values: np.ndarray) -> tuple[tuple[int, int, int], ...]:
    """Bins 0, 1, 2, 3-4, 5-8, 9-16 ... from the first to the last non-empty one."""
    bins = np.where(values < 1, -1, np.ceil(np.log2(np.maximum(values, 1)))).astype(np.int64)
    low = int(bins.min())
    counts = np.bincount(bins - low).tolist()
    edges = [(0, 0) if power < 0 else (2**power // 2 + 1, 2**power) for power in range(low, low + len(counts))]
    return tuple((begin, end, texts) for (begin, end), texts in zip(edges, counts, strict=True))
