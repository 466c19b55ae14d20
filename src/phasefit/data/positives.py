"""Find the labelled pairs whose texts belong together, which `mnr` and `cosine` learn from."""

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
HIGH = 0.7  # share of the score range: 3.5 on a scale from 0 to 5


@dataclass(frozen=True)
class Positives:
    """The rule for positive pairs, by label name or by minimum score; decided on training rows."""

    how: str
    names: frozenset[str] = frozenset()
    least: float = 0.0

    def rows(self, table: Table) -> np.ndarray:
        """The indices of the positive rows."""
        labels = table.labels or ()
        if self.names:
            return np.flatnonzero([_name(label) in self.names for label in labels])
        return np.flatnonzero([isinstance(label, int | float) and label >= self.least for label in labels])


def positives_of(train: Table) -> Positives | None:
    """The rule for these labels; None if they do not mark positive pairs."""
    return None if train.labels is None else LABEL_KINDS[train.label_kind].positives(train.labels)


def scored_positives(labels: Iterable[Label]) -> Positives:
    """The rule that selects the highest scores."""
    scores = np.array([label for label in labels if isinstance(label, float)])
    least = float(scores.min() + HIGH * (scores.max() - scores.min()))
    return Positives(f"score of at least {least:g}", least=least)


def named_positives(labels: Iterable[Label]) -> Positives | None:
    """The rule that selects names that mean yes; None unless all other names mean no."""
    names = positive_names(labels)
    quoted = " and ".join(f"'{name}'" for name in sorted(names))
    return Positives(f"label {quoted}", names) if names else None


def positive_names(labels: Iterable[Label]) -> frozenset[str]:
    """The names among these that mark positive pairs; empty if any name means neither yes nor no."""
    names = {_name(label) for label in labels}
    return frozenset(names & YES) if names <= YES | NO and names & NO else frozenset()


def is_positive(label: Label) -> bool:
    """Whether a label is one of the names that mean yes."""
    return _name(label) in YES


def _name(label: Label) -> str:
    return str(label).strip().lower().replace(" ", "_").replace("-", "_" if str(label)[:1] != "-" else "-")
