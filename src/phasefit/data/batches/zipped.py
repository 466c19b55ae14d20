"""Several streams side by side: together in every batch, or one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phasefit.data.batches.contract import Batches, Draw


class ZippedBatches:
    """An epoch is one of the longest stream; the others begin anew as often as needed.

    `alternate` gives one stream per batch in turn, otherwise every batch holds all. Keys become `name.key`.
    """

    def __init__(self, streams: Mapping[str, Batches], *, alternate: bool = False) -> None:
        self._streams = dict(streams)
        self._alternate = alternate
        if not all(len(stream) for stream in self._streams.values()):
            raise ValueError("a stream without batches cannot be zipped")
        self._longest = max(len(stream) for stream in self._streams.values())

    def __len__(self) -> int:
        return self._longest * (len(self._streams) if self._alternate else 1)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        running = {name: self._endless(stream, number * self._longest) for name, stream in self._streams.items()}
        for _ in range(self._longest):
            draws = [{f"{name}.{key}": rows for key, rows in next(part).items()} for name, part in running.items()]
            if self._alternate:
                yield from draws
            else:
                yield {key: rows for draw in draws for key, rows in draw.items()}

    @staticmethod
    def _endless(stream: Batches, skipped: int) -> Iterator[Draw]:
        """The stream from its batch number `skipped` on, epoch after epoch."""
        epoch, place = divmod(skipped, len(stream))
        while True:
            for index, draw in enumerate(stream.epoch(epoch)):
                if index >= place:
                    yield draw
            epoch, place = epoch + 1, 0
