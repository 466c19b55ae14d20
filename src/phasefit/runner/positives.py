"""Which rows of a table of labelled pairs are texts that belong together: what `mnr` may learn from."""

from __future__ import annotations

import numpy as np

from phasefit.data.labels import kind_of
from phasefit.data.table import Table

YES = frozenset({"1", "true", "yes", "positive", "duplicate", "paraphrase", "entailment", "similar", "match", "same"})
NO = frozenset({"0", "false", "no", "negative", "not_duplicate", "not_paraphrase", "neutral", "contradiction"}) | {
    "not_entailment", "dissimilar", "different", "-1", "no_match", "not_similar"
}  # fmt: skip
HIGH = 0.7  # of the range of scores: from 3.5 on where it goes from 0 to 5


def positives(table: Table) -> tuple[np.ndarray | None, str]:
    """The places of the rows whose label says so, and how it says it; None where labels say nothing about it."""
    if table.labels is None:
        return None, ""
    kind = kind_of(table.labels)
    if kind == "score":
        scores = np.array([float(label) for label in table.labels])  # type: ignore[arg-type]
        low, high = scores.min(), scores.max()
        least = float(low + HIGH * (high - low))
        return np.flatnonzero(scores >= least), f"scores from {least:g} on"
    if kind != "single":
        return None, ""
    names = [str(label).strip().lower().replace(" ", "_") for label in table.labels]
    found = {*names}
    if not (found & YES and found <= YES | NO and len(found) > 1):
        return None, ""
    meant = " and ".join(f"'{name}'" for name in sorted(found & YES))
    return np.flatnonzero([name in YES for name in names]), f"label {meant}"
