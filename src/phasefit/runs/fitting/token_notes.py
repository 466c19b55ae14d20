"""Notes about tokenised texts: those that are too long for the model, and those that its tokenizer cannot read."""

from __future__ import annotations

import numpy as np

from phasefit.events import Note
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.long_texts import windows_of
from phasefit.models.tokens.tokens import Tokens
from phasefit.models.tokens.truncation import truncation

UNREADABLE = 1 / 3  # share of unknown tokens


def token_notes(tokens: Tokens, encoder: Encoder) -> list[Note]:
    """How many texts are too long and how much is cut, and how many consist of unknown tokens."""
    return [*_long_texts(tokens, encoder), *_unreadable_texts(tokens, encoder)]


def _long_texts(tokens: Tokens, encoder: Encoder) -> list[Note]:
    notes = []
    longer = tokens.lengths > encoder.max_length
    if longer.any():
        count = windows_of(tokens.lengths[longer], encoder.max_length)
        sentence = f"{longer.sum():,} of {len(tokens):,} texts are longer than {encoder.max_length} tokens"
        notes.append(Note(f"{sentence} and are split into {count:,} windows"))
    if tokens.cut:
        sentence = truncation(tokens, encoder.reach).sentence()
        notes.append(Note(f"{sentence}{_remedy(encoder)}", warning=True))
    return notes


def _remedy(encoder: Encoder) -> str:
    """How to keep more of the texts that are cut; empty if there is no way."""
    ways = []
    if encoder.max_length < encoder.position_limit:
        ways.append(f"up to {encoder.position_limit} tokens with --set max_length={encoder.position_limit}")
    if encoder.long != "windows" and encoder.pools_windows:
        ways.append("whole texts with --long windows")
    return f"; keep {' or '.join(ways)}" if ways else ""


def _unreadable_texts(tokens: Tokens, encoder: Encoder) -> list[Note]:
    unknown = encoder.tokenizer.unk_token_id
    if unknown is None or not len(tokens):
        return []
    counts = tokens.count(int(unknown))
    readable = np.maximum(tokens.lengths - encoder.tokenizer.num_special_tokens_to_add(False), 1)
    rows = np.flatnonzero(counts >= UNREADABLE * readable)
    if not len(rows):
        return []
    worst = rows[np.argmax(counts[rows] / readable[rows])]
    example = f"e.g. {counts[worst]} of {readable[worst]} tokens of one text are {encoder.tokenizer.unk_token}"
    many = f"{len(rows):,} of {len(tokens):,} texts"
    return [
        Note(
            f"the tokenizer of '{encoder.name}' cannot read {many}: a third or more of their tokens are unknown "
            f"({example}); use a model for their language or script with --model",
            warning=True,
        )
    ]
