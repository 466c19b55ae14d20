"""A light decoder that rebuilds a text from its sentence vector, behind any encoder.

> Why ours exists: the tied decoder costs more than the encoder, needs a BERT-like family, and spends most of its time
> on logits of padding and of words that the corpus never uses. One causal layer over the corpus's own tokens learns the
> same lesson: with a single vector to look at, cross-attention is an added projection of it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from phasefit.models.encoder import Encoder
from phasefit.models.seeded import seeded
from phasefit.models.tokens import Features


class LightDecoder(nn.Module):
    """One causal Transformer layer; softmax over the tokens in use; logits only where there is a token."""

    lookup: Tensor

    def __init__(
        self, encoder: Encoder, used: np.ndarray, longest: int = 512, *, dropout: float = 0.1, seed: int = 0
    ) -> None:
        super().__init__()
        width = encoder.dimension
        words = encoder.transformer.get_input_embeddings().weight.detach()
        lookup = torch.zeros(len(words), dtype=torch.long)
        lookup[torch.from_numpy(used).long()] = torch.arange(len(used))
        self.register_buffer("lookup", lookup, persistent=False)
        heads = next(count for count in (12, 8, 6, 4, 2, 1) if width % count == 0)
        with seeded(seed):
            self.embedding = nn.Embedding(len(used), width)
            self.position = nn.Embedding(min(encoder.max_length, max(longest, 512)), width)
            self.condition = nn.Linear(width, width)
            self.layer = nn.TransformerEncoderLayer(
                width, heads, 2 * width, dropout, activation="gelu", batch_first=True, norm_first=True
            )
            self.norm = nn.LayerNorm(width)
            nn.init.normal_(self.embedding.weight, std=0.02)
            nn.init.normal_(self.position.weight, std=0.02)
        if words.shape[1] == width:  # a head start: the encoder already knows these words
            with torch.no_grad():
                self.embedding.weight.copy_(words[torch.from_numpy(used).long()])

    def forward(self, vectors: Tensor, clean: Features) -> Tensor:
        """Sentence vectors (n, d) and the clean texts -> mean cross-entropy of their next tokens."""
        ids, real = self.lookup[clean["input_ids"]], clean["attention_mask"].bool()
        given, wanted = ids[:, :-1], ids[:, 1:]
        length = given.shape[1]
        if not length:  # texts of a single token: there is no next one to guess
            return vectors.sum() * 0.0
        x = self.embedding(given) + self.position.weight[:length] + self.condition(vectors)[:, None]
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        states = self.norm(self.layer(x, src_mask=future))[real[:, 1:]]  # causal: padding is never looked at
        scale = states.shape[1] ** -0.5  # a fresh decoder then knows nothing: its loss is ln(tokens in use)
        return cross_entropy(linear(states * scale, self.embedding.weight).float(), wanted[real[:, 1:]])
