"""The anisotropy of every layer of an encoder: of its pooled texts, and of the words in their context.

Layer 0 holds the token embeddings. Texts are pooled as the encoder pools its last layer; layers after the pooling are
ignored. A word is what whitespace separates, and its vector is the mean of the states of its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.errors import DataError
from phasefit.metrics.geometry import anisotropy
from phasefit.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.models.encoder.encoder import Encoder
    from phasefit.models.encoder.inference import Progress
    from phasefit.models.tokens.tokens import Tokens

MOST_TEXTS = 500  # every layer of each is kept until the end
MOST_WORDS = 2000


def sample_texts(texts: Sequence[str], most: int = MOST_TEXTS) -> list[str]:
    """At most `most` texts, drawn at random; two are needed."""
    if len(texts) < 2:
        raise DataError("anisotropy compares texts and needs at least two; give a table with more texts")
    rows = generator(0, "layers").permutation(len(texts))[:most]
    return [texts[row] for row in np.sort(rows)]


def measure_layers(
    encoder: Encoder, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None
) -> dict[str, Any]:
    """The numbers of texts and words, and for each layer the anisotropy of both (None for fewer than two)."""
    from phasefit.models.encoder.inference import evaluating

    tokens = encoder.tokenise(texts, max_length=encoder.max_length)
    chosen = _drawn_words(tokens)
    pooled: list[list[np.ndarray]] = []
    words: list[list[np.ndarray]] = []
    with evaluating(encoder):
        for start in range(0, len(tokens), batch_size):
            rows = np.arange(start, min(start + batch_size, len(tokens)))
            states, mask = _states(encoder, tokens, rows)
            pooled.append([_pool(encoder, layer, mask) for layer in states])
            words.append([_word_vectors(layer, tokens, rows, chosen) for layer in states])
            if progress is not None:
                progress(len(rows))
    layers = [
        {"layer": layer, "texts": anisotropy(np.concatenate(of_texts)), "words": anisotropy(np.concatenate(of_words))}
        for layer, (of_texts, of_words) in enumerate(
            zip(zip(*pooled, strict=True), zip(*words, strict=True), strict=True)
        )
    ]
    return {"texts": len(texts), "words": len(chosen), "layers": layers}


def _states(encoder: Encoder, tokens: Tokens, rows: np.ndarray) -> tuple[tuple[Tensor, ...], Tensor]:
    """The states of all layers, each (rows, tokens, d), and the mask of real tokens."""
    import torch

    device = next(encoder.parameters()).device
    batch = {name: value.to(device) for name, value in tokens.batch(rows).items()}
    with torch.inference_mode():
        output = encoder.transformer(**batch, output_hidden_states=True)
    return output.hidden_states, batch["attention_mask"]


def _pool(encoder: Encoder, states: Tensor, mask: Tensor) -> np.ndarray:
    """The vectors of texts (rows, d) from the states of a layer, by the encoder's pooling; without one, the mean."""
    import torch

    from phasefit.models.encoder.library import Pooling

    pooling = next((layer for layer in encoder.layers if isinstance(layer, Pooling)), None)
    with torch.inference_mode():
        if pooling is None:
            share = mask / mask.sum(dim=1, keepdim=True)
            return np.asarray((states * share[..., None]).sum(dim=1).float().cpu())
        output = pooling({"token_embeddings": states, "attention_mask": mask})
    return np.asarray(output["sentence_embedding"].float().cpu())


def _drawn_words(tokens: Tokens) -> set[tuple[int, int]]:
    """At most MOST_WORDS words of all texts, as text and number in the text."""
    from phasefit.models.tokens.tokens import SPECIAL

    owners = np.repeat(np.arange(len(tokens)), tokens.lengths)
    numbers = np.asarray(tokens.words)
    every = np.unique(np.column_stack([owners, numbers])[numbers != SPECIAL], axis=0)
    rows = generator(0, "words of layers").permutation(len(every))[:MOST_WORDS]
    return {(int(text), int(word)) for text, word in every[rows]}


def _word_vectors(states: Tensor, tokens: Tokens, rows: np.ndarray, chosen: set[tuple[int, int]]) -> np.ndarray:
    """The vectors of the chosen words of these rows, (words, d)."""
    values = np.asarray(states.float().cpu())
    numbers = tokens.padded(rows)[1]
    vectors = [
        values[place, numbers[place] == word].mean(axis=0)
        for place, row in enumerate(rows.tolist())
        for word in np.unique(numbers[place]).tolist()
        if (row, word) in chosen
    ]
    return np.array(vectors).reshape(len(vectors), values.shape[-1])
