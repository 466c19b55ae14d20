"""The encoder's dropout at another rate, for as long as a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from phasefit.models.encoder.encoder import Encoder


def dropout_rates(encoder: Encoder) -> list[float]:
    """Of every place where the Transformer drops something."""
    return [getattr(part, name) for part, name in _places(encoder)]


@contextmanager
def dropout_rate(encoder: Encoder, rate: float | None) -> Iterator[None]:
    """Every place where the Transformer drops something does so at this rate; None leaves them as they are."""
    places = [] if rate is None else [(part, name, getattr(part, name)) for part, name in _places(encoder)]
    try:
        for part, name, _ in places:
            setattr(part, name, rate)
        yield
    finally:
        for part, name, before in places:
            setattr(part, name, before)


def _places(encoder: Encoder) -> Iterator[tuple[nn.Module, str]]:
    """Dropout layers, and the numbers that some families (ModernBERT) keep for the dropout inside attention."""
    for part in encoder.transformer.modules():
        if isinstance(part, nn.Dropout):
            yield part, "p"
        else:
            yield from ((part, name) for name, value in vars(part).items() if _is_rate(name, value))


def _is_rate(name: str, value: object) -> bool:
    return "dropout" in name and isinstance(value, float)
