"""What the choice of candidates depends on. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.prepare.prepare import Prepared
from phasefit.studies.rows import pooled

LONG_WORDS = 200  # texts of more words are cut by most sentence encoders


@dataclass(frozen=True)
class DataFacts:
    """The rows that may be looked at: those to train on and to validate on."""

    rows: int
    kind: str
    classes: int = 0
    pairs: bool = False
    unlabelled: int = 0
    imbalance: float = 1.0  # rows of the largest class per row of the smallest
    long_share: float = 0.0

    @property
    def rows_per_class(self) -> float:
        """In the mean; of scores all rows."""
        return self.rows / max(self.classes, 1)

    def sentence(self) -> str:
        """In words."""
        what = "pairs of texts" if self.pairs else "texts"
        of = f" in {self.classes} classes, the largest {self.imbalance:.1f} times the smallest" if self.classes else ""
        more = f", {self.unlabelled:,} without labels beside" if self.unlabelled else ""
        long = f", {self.long_share:.0%} of more than {LONG_WORDS} words" if self.long_share >= 0.01 else ""
        return f"{self.rows:,} {what} to choose on ({self.kind} labels{of}{more}{long})"


def facts_of(prepared: Prepared) -> DataFacts:
    """Of a prepared table."""
    table = pooled(prepared)
    texts = list(table.texts)
    long = np.mean([len(text.split()) > LONG_WORDS for text in texts])
    kind = prepared.space.kind
    counts = np.array([])
    if kind == "multi":
        counts = prepared.values(table).sum(axis=0)
    elif kind != "score":
        counts = np.bincount(prepared.codes(table), minlength=len(prepared.space))
    counts = counts[counts > 0]
    return DataFacts(
        len(table),
        kind,
        0 if kind == "score" else len(prepared.space),
        bool(table.others),
        0 if prepared.unlabelled is None else len(prepared.unlabelled),
        float(counts.max() / counts.min()) if len(counts) else 1.0,
        float(long),
    )
