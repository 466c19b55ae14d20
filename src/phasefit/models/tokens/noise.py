"""Word noise on stored tokens: delete words, mask words, delete stop words. Sampled again each time a text is used."""

from __future__ import annotations

import numpy as np

from phasefit.models.tokens.tokens import SPECIAL, Features, Tokens, features


def hit_words(words: np.ndarray, ratio: float, generator: np.random.Generator) -> np.ndarray:
    """Select each word with probability `ratio`, but never all words of a text: one random word always stays.

    `words` is the word number of each token; a word without tokens (an invisible character) never counts as that one.
    """
    real = np.zeros((len(words), max(int(words.max(initial=0)) + 1, 1)), dtype=bool)
    row, column = np.nonzero(words != SPECIAL)
    real[row, words[row, column]] = True
    draw = generator.random(real.shape)
    hit = (draw < ratio) & real
    spared = np.argmax(np.where(real, draw, -1.0), axis=1)  # the word with the highest draw: uniform among all
    every = (hit | ~real).all(axis=1)
    hit[every, spared[every]] = False
    return hit


def delete_words(tokens: Tokens, rows: np.ndarray, ratio: float, generator: np.random.Generator) -> Features:
    """The rows without some of their words."""
    ids, words, real = tokens.padded(rows)
    hit = _spread(hit_words(words, ratio, generator), words)
    return _compact(ids, real & ~hit, tokens.pad)


def mask_words(tokens: Tokens, rows: np.ndarray, ratio: float, generator: np.random.Generator) -> Features:
    """The rows with some of their words replaced, each by one mask token, which also hides its length."""
    if tokens.mask is None:
        raise ValueError("the tokenizer has no mask token")
    ids, words, real = tokens.padded(rows)
    hit = _spread(hit_words(words, ratio, generator), words)
    first = np.ones_like(real)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    return _compact(np.where(hit, tokens.mask, ids), real & (~hit | first), tokens.pad)


def delete_stop_words(
    tokens: Tokens, rows: np.ndarray, stop: np.ndarray, ratio: float, generator: np.random.Generator, only: np.ndarray
) -> Features:
    """The rows; those that `only` marks lose some of their stop words, but never all words.

    `stop` marks the tokens of stop words among all stored tokens.
    """
    ids, words, real = tokens.padded(rows)
    counts = words.max(axis=1) + 1
    draw = generator.random((len(rows), max(int(counts.max(initial=1)), 1)))
    column = np.arange(ids.shape[1])
    flagged = stop[np.where(real, tokens.starts[rows][:, None] + column, 0)] & real & only[:, None]
    kept = real & ~(flagged & _spread(draw < ratio, words))
    empty = ~(kept & (words != SPECIAL)).any(axis=1)
    kept[empty] = real[empty]
    return _compact(ids, kept, tokens.pad)


def _spread(hit: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Expand a mask of words to their tokens; special tokens and padding are never selected."""
    spread: np.ndarray = np.take_along_axis(hit, np.maximum(words, 0), axis=1) & (words != SPECIAL)
    return spread


def _compact(ids: np.ndarray, kept: np.ndarray, pad: int) -> Features:
    """Remove the gaps: kept tokens move left, in order."""
    order = np.argsort(~kept, axis=1, kind="stable")
    width = max(int(kept.sum(axis=1).max(initial=1)), 1)
    real = np.take_along_axis(kept, order, axis=1)[:, :width]
    moved = np.take_along_axis(ids, order, axis=1)[:, :width]
    return features(np.where(real, moved, pad), real)
