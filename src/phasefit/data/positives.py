"""Which rows of a table of labelled pairs are texts that belong together: what `mnr` and `cosine` learn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from phasefit.data.labels.kinds import LABEL_KINDS
from phasefit.data.table import Label, Table

# fmt: off
YES = frozenset({
    "1", "true", "yes", "positive", "duplicate", "paraphrase", "entailment", "similar", "match", "same", "equivalent",
})
NO = frozenset({
    "0", "-1", "false", "no", "negative", "not_duplicate", "not_paraphrase", "neutral", "contradiction", "not_similar",
    "not_entailment", "dissimilar", "different", "no_match", "not_equivalent",
})
# fmt: on
HIGH = 0.7  # of the range of scores: from 3.5 on where it goes from 0 to 5


@dataclass(frozen=True)
class Positives:
    """How labels say that texts belong together: by names, or by scores from some on; decided on training rows."""

    how: str
    names: frozenset[str] = frozenset()
    least: float = 0.0

    def rows(self, table: Table) -> np.ndarray:
        """The places of such rows."""
        labels = table.labels or ()
        if self.names:
            return np.flatnonzero([_name(label) in self.names for label in labels])
        return np.flatnonzero([isinstance(label, int | float) and label >= self.least for label in labels])


def positives_of(train: Table) -> Positives | None:
    """How these labels say it; None where they say nothing about it."""
    return None if train.labels is None else LABEL_KINDS[train.label_kind].positives(train.labels)


def scored_positives(labels: Iterable[Label]) -> Positives:
    """The upper part of the scores."""
    scores = np.array([label for label in labels if isinstance(label, float)])
    least = float(scores.min() + HIGH * (scores.max() - scores.min()))
    return Positives(f"scores from {least:g} on", least=least)


def named_positives(labels: Iterable[Label]) -> Positives | None:
    """Names that mean yes, where all others mean no."""
    names = positive_names(labels)
    meant = " and ".join(f"'{name}'" for name in sorted(names))
    return Positives(f"label {meant}", names) if names else None


def positive_names(labels: Iterable[Label]) -> frozenset[str]:
    """The names, among these, of what belongs together; none where some mean something else."""
    names = {_name(label) for label in labels}
    return frozenset(names & YES) if names <= YES | NO and names & NO else frozenset()


def is_positive(label: Label) -> bool:
    """Whether a label is one of those that mean yes."""
    return _name(label) in YES


def _name(label: Label) -> str:
    return str(label).strip().lower().replace(" ", "_").replace("-", "_" if str(label)[:1] != "-" else "-")
