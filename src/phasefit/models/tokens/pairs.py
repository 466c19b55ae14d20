"""Two texts in one input, as a tokenizer joins them: [CLS] a [SEP] b [SEP]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phasefit.models.encoder.encoder import Encoder
from phasefit.models.tokens.tokens import SPECIAL, Tokens

CHUNK = 4096


def tokenise_pairs(encoder: Encoder, left: Sequence[str], right: Sequence[str]) -> Tokens:
    """The tokens of each pair; of one that is too long, the longer text is cut until both fit."""
    from tokenizers import Tokenizer

    whole = Tokenizer.from_str(encoder.tokenizer.backend_tokenizer.to_str())
    whole.no_padding()
    whole.no_truncation()
    cut = Tokenizer.from_str(whole.to_str())
    cut.enable_truncation(encoder.max_length, strategy="longest_first", direction=encoder.tokenizer.truncation_side)
    pairs = [(encoder.prompt + one, other) for one, other in zip(left, right, strict=True)]
    encodings: list[Any] = []
    for start in range(0, len(pairs), CHUNK):
        encodings += cut.encode_batch(pairs[start : start + CHUNK])
    lost = np.zeros(len(pairs), dtype=np.int32)
    for row, encoding in enumerate(encodings):
        if encoding.overflowing:
            lost[row] = len(whole.encode(*pairs[row])) - len(encoding)
    starts = np.zeros(len(pairs) + 1, dtype=np.int64)
    np.cumsum([len(encoding) for encoding in encodings], out=starts[1:])
    ids = np.fromiter((number for encoding in encodings for number in encoding.ids), np.int32, int(starts[-1]))
    words = np.full(len(ids), SPECIAL, dtype=np.int32)  # no noise is made of pairs
    pad, mask = encoder.tokenizer.pad_token_id or 0, encoder.tokenizer.mask_token_id
    return Tokens(ids, words, starts, pad, mask, lost)
