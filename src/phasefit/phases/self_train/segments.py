"""The order in which self-training trains encoders, and the folds of the labelled rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.seeds import generator

WHOLE = 0  # the number of the encoder that is trained on all labelled rows; the others are numbered by their fold


@dataclass(frozen=True)
class Segment:
    """Consecutive steps that train one encoder of one round, from the weights that the phase started with."""

    round: int
    model: int
    first: int  # step
    steps: int

    @property
    def last(self) -> int:
        """The last step."""
        return self.first + self.steps - 1


def units(rounds: int, folds: int, stretch: int) -> list[tuple[int, int, int]]:
    """Round, encoder and relative length of all segments.

    Folds come before the whole in all rounds but the first, so that a dropped round is not trained on all rows.
    """
    first = [(0, WHOLE, 1), *((0, fold, 1) for fold in range(1, folds + 1) if rounds)]
    order = [*range(1, folds + 1), WHOLE]
    return first + [(number, model, stretch) for number in range(1, rounds + 1) for model in order]


def segments(total: int, rounds: int, folds: int, stretch: int) -> list[Segment]:
    """The segments of a phase with this many steps; if they are too few, the last rounds are missing."""
    planned = units(rounds, folds, stretch)
    unit = max(total // sum(length for _, _, length in planned), 1)
    found: list[Segment] = []
    first = 1
    for number, model, length in planned:
        steps = min(unit * length, total - first + 1)
        if steps > 0:
            found.append(Segment(number, model, first, steps))
        first += unit * length
    rest = total - found[-1].last
    return [*found[:-1], Segment(found[-1].round, found[-1].model, found[-1].first, found[-1].steps + rest)]


def assign_folds(codes: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold that holds out each row, from 1; the classes are spread evenly. 0: the only row of its class."""
    random = generator(seed, "folds")
    chosen = np.zeros(len(codes), dtype=np.int64)
    start = 0
    for code in np.unique(codes).tolist():
        rows = random.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            chosen[rows] = (start + np.arange(len(rows))) % folds + 1
            start += len(rows)
    return chosen
