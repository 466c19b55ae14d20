"""A light decoder that reconstructs a text from its sentence vector, for any encoder.

> Why not the tied decoder: it costs more than the encoder, needs a BERT-like family, and spends most of its time on
> logits of padding and of words that the corpus never uses. One causal layer over the tokens of the corpus works as
> well: with a single vector to attend to, cross-attention is an added projection of it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from phasefit.models.decoders.token_loss import token_loss
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.seeded import seeded
from phasefit.models.tokens.tokens import Features


class LightDecoder(nn.Module):
    """One causal Transformer layer; softmax over the tokens of the corpus; no logits for padding."""

    lookup: Tensor
    used: Tensor

    def __init__(
        self, encoder: Encoder, used: np.ndarray, longest: int = 512, *, dropout: float = 0.1, seed: int = 0
    ) -> None:
        super().__init__()
        width = encoder.dimension
        words = encoder.transformer.get_input_embeddings().weight.detach()
        lookup = torch.zeros(len(words), dtype=torch.long)
        lookup[torch.from_numpy(used).long()] = torch.arange(len(used))
        self.register_buffer("lookup", lookup, persistent=False)
        self.register_buffer("used", torch.from_numpy(used).long(), persistent=False)
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
        if words.shape[1] == width:  # start from the encoder's word embeddings
            with torch.no_grad():
                self.embedding.weight.copy_(words[torch.from_numpy(used).long()])

    def forward(self, vectors: Tensor, clean: Features, weights: Tensor | None = None) -> Tensor:
        """Sentence vectors (n, d) and the clean texts -> mean cross-entropy of their next tokens."""
        ids, real = self.lookup[clean["input_ids"]], clean["attention_mask"].bool()
        inputs, targets = ids[:, :-1], ids[:, 1:]
        if not inputs.shape[1]:  # texts of a single token have no next token
            return vectors.sum() * 0.0
        states = self._states(vectors, inputs)[real[:, 1:]]  # causal: no token attends to padding
        return token_loss(self._logits(states), targets, real[:, 1:], weights)

    @torch.no_grad()
    def generate(
        self, vectors: Tensor, begin: Tensor, end: Tensor, longest: int, *, temperature: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        """A text (n, longest) for each vector, from its token `begin` (n,) up to `end` (n,), and its length (n,).

        Temperature 0 picks the most probable token; otherwise tokens are drawn from torch's default generator.
        """
        ids, last = self.lookup[begin][:, None], self.lookup[end]
        finished = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
        lengths = torch.ones_like(last)
        while ids.shape[1] < longest and not finished.all():
            logits = self._logits(self._states(vectors, ids)[:, -1])
            token = logits.argmax(dim=1)
            if temperature:
                token = torch.multinomial((logits / temperature).softmax(dim=1), 1)[:, 0]
            token = torch.where(finished | (ids.shape[1] == longest - 1), last, token)  # ends texts at `longest`
            ids = torch.cat([ids, token[:, None]], dim=1)
            lengths += ~finished
            finished |= token == last
        padded = torch.zeros(len(ids), longest, dtype=torch.long, device=ids.device)
        padded[:, : ids.shape[1]] = self.used[ids]
        return padded, lengths

    def _states(self, vectors: Tensor, ids: Tensor) -> Tensor:
        length = ids.shape[1]
        x = self.embedding(ids) + self.position.weight[:length] + self.condition(vectors)[:, None]
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        states: Tensor = self.norm(self.layer(x, src_mask=future))
        return states

    def _logits(self, states: Tensor) -> Tensor:
        scale = states.shape[-1] ** -0.5  # the loss of a new decoder is then ln(tokens in use), that of a uniform guess
        logits = linear(states * scale, self.embedding.weight)
        return logits if logits.dtype == torch.float64 else logits.float()
