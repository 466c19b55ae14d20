"""The training texts of a run with their labels, read again from where the run read them. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.table import Label, Table, label_name
from phasefit.errors import DataError
from phasefit.explain.results import Row
from phasefit.runs.rows_again import read_rows_again

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.prepare.prepare import Prepared
    from phasefit.runs.run import Run

MOST_TEXTS = 5000  # that are embedded
MOST_CHARACTERS = 1_000_000  # of these texts
CHARACTERS = 1500  # of a text that are embedded, about: the encoder cuts the rest


@dataclass(frozen=True)
class TrainingTexts:
    """Training texts or pairs, the names of their labels, and the number of all training rows."""

    texts: tuple[Row, ...]
    labels: tuple[str, ...]
    rows: int

    @property
    def note(self) -> str:
        """States that not all texts are compared; empty if they are."""
        if len(self.texts) == self.rows:
            return ""
        return f"the nearest of {len(self.texts):,} random ones of the {self.rows:,} training texts"


def training_texts(
    source: Run | Prepared, task: str | None = None, *, most: int = MOST_TEXTS, listen: Listener | None = None
) -> TrainingTexts:
    """The training texts of a run or of prepared tables; with more than `most`, a random sample, always the same.

    Raises a PhasefitError with one sentence if the data are gone or have changed. `task` is one of a run with several.
    """
    from phasefit.prepare.prepare import Prepared

    prepared = source if isinstance(source, Prepared) else _trained_on(source, listen or (lambda event: None))
    if prepared.tasks:
        if task is None or task not in prepared.tasks:
            raise DataError(f"the training data have no task '{task}'; their tasks are {', '.join(prepared.tasks)}")
        prepared = prepared.tasks[task]
    return _sample(prepared.train, prepared.space, most)


def _trained_on(run: Run, listen: Listener) -> Prepared:
    """The rows of a run; after --refit, it was trained on the validation rows too."""
    from phasefit.prepare.merge import merged

    prepared = read_rows_again(run, listen)
    return merged(prepared) if run.manifest["request"].get("refit") else prepared


def _sample(table: Table, space: LabelSpace, most: int) -> TrainingTexts:
    order = np.random.default_rng(0).permutation(len(table))[: max(most, 1)]
    sizes = np.array(
        [sum(min(len(side[row]), CHARACTERS) for side in table.sides[:2]) for row in order], dtype=np.int64
    )
    fitting = int(np.searchsorted(np.cumsum(sizes), MOST_CHARACTERS, side="right"))
    rows = np.sort(order[: max(1, min(most, fitting))]).tolist()
    sides = table.sides[:2]
    texts = tuple(sides[0][row] if len(sides) == 1 else (sides[0][row], sides[1][row]) for row in rows)
    labels = table.labels
    return TrainingTexts(texts, tuple("" if labels is None else _name(space, labels[row]) for row in rows), len(table))


def _name(space: LabelSpace, label: Label) -> str:
    """A label as text; names of levels instead of their positions."""
    return label_name(label) if isinstance(label, tuple | frozenset) else space.name(label)
