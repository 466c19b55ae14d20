"""Windows of long texts, taken apart in front of the Transformer and put together behind it.

Pooling then sees the states of all windows of a text and makes one vector of them.
"""

from __future__ import annotations

from collections.abc import Callable

from torch.nn.functional import pad

from phasefit.models.tokens.tokens import Features


def in_windows(run: Callable[[Features], Features], features: Features, size: int) -> Features:
    """The Transformer's output for texts of any length, of which it sees `size` tokens at once."""
    mask = features["attention_mask"]
    rows, width = mask.shape
    if width <= size:
        return run(features)
    count = -(-width // size)
    room = (0, count * size - width)
    apart = {name: pad(value, room).view(rows * count, size) for name, value in features.items()}
    used = apart["attention_mask"].any(dim=1)
    states = run({name: value[used] for name, value in apart.items()})["token_embeddings"]
    spread = states.new_zeros(rows * count, size, states.shape[-1])
    spread[used, : states.shape[1]] = states
    return {**features, "token_embeddings": spread.view(rows, count * size, -1)[:, :width]}
