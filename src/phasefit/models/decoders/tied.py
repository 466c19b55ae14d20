"""The paper's decoder: the encoder's own weights, run causally, with cross-attention to the sentence vector."""

from __future__ import annotations

import copy

from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from phasefit.errors import ModelError
from phasefit.models.decoders.token_loss import token_loss
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.seeded import seeded
from phasefit.models.tokens.tokens import Features

FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "electra")


class TiedDecoder(nn.Module):
    """A causal language model that shares all weights except the cross-attention with the encoder."""

    def __init__(self, encoder: Encoder, *, seed: int = 0) -> None:
        super().__init__()
        config = copy.deepcopy(encoder.transformer.config)
        if config.model_type not in FAMILIES:
            raise ModelError(
                f"decoder = 'tied' supports encoders of type {', '.join(FAMILIES)}, not {config.model_type}; "
                "use decoder = 'light'"
            )
        if encoder.dimension != config.hidden_size:
            raise ModelError(
                f"decoder = 'tied' needs sentence vectors of the hidden size {config.hidden_size}, "
                f"not {encoder.dimension}; use decoder = 'light'"
            )
        config.is_decoder = True
        config.add_cross_attention = True
        with seeded(seed):
            self.decoder = AutoModelForCausalLM.from_config(config, dtype=next(encoder.parameters()).dtype)
        _share(encoder.transformer, self.decoder.base_model)
        self.decoder.tie_weights()  # sharing the embeddings untied the language-model head

    def forward(self, vectors: Tensor, clean: Features, weights: Tensor | None = None) -> Tensor:
        """Sentence vectors (n, d) and the clean texts -> mean cross-entropy of their next tokens."""
        ids, real = clean["input_ids"], clean["attention_mask"].bool()
        logits = self.decoder(input_ids=ids[:, :-1], encoder_hidden_states=vectors[:, None], use_cache=False).logits
        return token_loss(logits[real[:, 1:]].float(), ids[:, 1:], real[:, 1:], weights)


def _share(source: nn.Module, target: nn.Module) -> None:
    """Replace the target's parameters by the source's of the same name."""
    parts = dict(target.named_modules())
    for name, parameter in source.named_parameters():
        where, _, attribute = name.rpartition(".")
        if where in parts and hasattr(parts[where], attribute):
            setattr(parts[where], attribute, parameter)
