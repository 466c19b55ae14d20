"""The batches of self-training: labelled rows, and pseudo-labelled texts next to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from phasefit.data.batches import ClassBatches, Draw
from phasefit.phases.class_text_loss import COMPARED
from phasefit.phases.pseudo_labels import evenly_repeated
from phasefit.phases.self_train.segments import Segment

FEWEST = 4  # rows of each half of a batch: two classes with two texts each

Labelled = tuple[np.ndarray, np.ndarray]  # rows and their classes


class SegmentBatches:
    """One epoch is all segments of the phase, in order; each draw names its round and the encoder that it trains.

    The rows of a segment are asked for when it begins, because its pseudo-labels come from earlier segments. `named`
    are class texts, as rows and their classes, of which each batch gets some with its labelled rows.
    """

    def __init__(
        self,
        rows_of: Callable[[Segment], tuple[Labelled, Labelled | None]],
        *,
        batch_size: int,
        per_class: int,
        accumulate: int,
        seed: Callable[[Segment, str], int],
        named: Labelled | None = None,
    ) -> None:
        self._rows_of, self._seed, self._named = rows_of, seed, named
        self._size, self._per_class, self._accumulate = batch_size, per_class, accumulate
        self.segments: list[Segment] = []

    def __len__(self) -> int:
        return self.segments[-1].last * self._accumulate

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of all segments."""
        for segment in self.segments:
            for rows in islice(self._draws(segment, number), segment.steps * self._accumulate):
                named = {"round": segment.round, "model": segment.model}
                yield {"rows": rows, **{name: np.full(len(rows), value) for name, value in named.items()}}

    def _draws(self, segment: Segment, number: int) -> Iterator[np.ndarray]:
        labelled, pseudo = self._rows_of(segment)
        if pseudo is None:
            yield from self._endless(labelled, self._size, segment, "labelled", number, self._named)
            return
        even = evenly_repeated(pseudo[1])
        half = max(self._size // 2, FEWEST)
        streams = (
            self._endless(labelled, half, segment, "labelled", number, self._named),
            self._endless((pseudo[0][even], pseudo[1][even]), half, segment, "pseudo", number),
        )
        for parts in zip(*streams, strict=False):
            yield _interleaved(*parts)

    def _endless(
        self, rows: Labelled, size: int, segment: Segment, part: str, number: int, named: Labelled | None = None
    ) -> Iterator[np.ndarray]:
        batches = ClassBatches(
            rows[1],
            batch_size=size,
            per_class=self._per_class,
            seed=self._seed(segment, part),
            named=None if named is None else named[1],
            least_named=COMPARED,
        )
        numbers = rows[0] if named is None else np.concatenate([rows[0], named[0]])
        epoch = number * len(self)
        while True:
            for draw in batches.epoch(epoch):
                yield numbers[draw["rows"]]
            epoch += 1


def _interleaved(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Both in one array, in turn, so that each process gets rows of both kinds."""
    places = np.concatenate([np.arange(len(first)), np.arange(len(second))])
    return np.concatenate([first, second])[np.argsort(places, kind="stable")]
