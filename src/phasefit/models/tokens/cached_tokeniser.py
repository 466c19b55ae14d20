"""A tokeniser kept ready between calls: making one takes tens of milliseconds, more than a short text's vector.

It is a copy of the encoder's tokenizer, so before each use it is compared with everything it was copied from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from phasefit.models.encoder.encoder import Encoder
from phasefit.models.tokens.tokens import Tokens


class ReadyTokeniser:
    """The tokeniser of an encoder as it is now: the last one while it still fits, else a new one."""

    def __init__(self) -> None:
        self._made: tuple[tuple[Any, ...], Callable[[Sequence[str]], Tokens]] | None = None

    def of(self, encoder: Encoder) -> Callable[[Sequence[str]], Tokens]:
        """What tokenises as `encoder.tokenise` does."""
        made, now = self._made, _copied_from(encoder)  # read once: another thread may be making one
        if made is None or made[0] != now:
            self._made = made = (now, encoder.tokeniser())
        return made[1]

    def __getstate__(self) -> dict[str, None]:
        """Copies of a model make their own."""
        return {"_made": None}


def _copied_from(encoder: Encoder) -> tuple[Any, ...]:
    """What decides how texts become tokens; a tokenizer that was replaced is another object, held so that it stays."""
    tokenizer = encoder.tokenizer
    backend = tokenizer.backend_tokenizer
    return (
        backend,
        encoder.max_length,
        encoder.long,
        encoder.prompt,
        tokenizer.truncation_side,
        tokenizer.pad_token_id,
        tokenizer.mask_token_id,
        backend.get_vocab_size(),
        repr(backend.normalizer),
        repr(backend.pre_tokenizer),
        repr(backend.post_processor),
    )
