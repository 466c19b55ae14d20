"""Noise of the encoder for as long as a block runs: dropout at another rate, and DropHead.

DropHead: whole attention heads fall silent while training (Zhou et al., 2020), as noise in place of dropout.

> Why ours exists: transformers 5 takes no `head_mask` any more. What a head says is a slice of what the attention's
> output projection reads, whatever the family, so a hook in front of that projection is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from phasefit.errors import ModelError
from phasefit.models.encoder.encoder import Encoder

# How the name of the output projection ends, by the `model_type` of the configuration.
_BERT = ".attention.output.dense"
PROJECTIONS = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra", "deberta", "deberta-v2"), _BERT),
    "distilbert": ".attention.out_lin",
    "albert": ".attention.dense",
    "mpnet": ".attention.attn.o",
    "modernbert": ".attn.Wo",
}


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


@contextmanager
def dropped_heads(encoder: Encoder, rate: float) -> Iterator[None]:
    """While the block runs, parts in training mode lose each head with probability `rate`, drawn anew for every text.

    The heads that are left are scaled up to keep the sum, and one is always left. Drawn from torch's default generator.
    """
    heads = int(encoder.transformer.config.num_attention_heads) if rate else 0
    with ExitStack() as hooks:
        for projection in attention_projections(encoder) if rate else ():
            hooks.callback(projection.register_forward_pre_hook(_silencer(heads, rate)).remove)
        if rate:
            hooks.enter_context(encoder.packing.off())  # heads fall silent text by text
        yield


def attention_projections(encoder: Encoder) -> list[nn.Module]:
    """The layer behind the heads, one for each layer of attention; a family that is not known is refused."""
    family = str(getattr(encoder.transformer.config, "model_type", "unknown"))
    ending = PROJECTIONS.get(family)
    projections = [part for name, part in encoder.transformer.named_modules() if ending and name.endswith(ending)]
    if not projections:
        raise ModelError(
            f"model '{encoder.name}' is of the family '{family}', whose attention heads cannot be dropped; use dropout "
            f"instead, or a model of {', '.join(PROJECTIONS)}"
        )
    return projections


def kept_heads(texts: int, heads: int, rate: float, device: torch.device) -> Tensor:
    """What each head of each text counts for, (texts, heads): 0, or heads / heads that are left."""
    draw = torch.rand(texts, heads, device=device)
    kept = draw >= rate
    kept |= draw == draw.max(dim=1, keepdim=True).values  # the head least likely to be hit always stays
    return kept * (heads / kept.sum(dim=1, keepdim=True))


def _silencer(heads: int, rate: float) -> Callable[[nn.Module, tuple[Tensor, ...]], tuple[Tensor, ...] | None]:
    def hook(projection: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        if not projection.training:
            return None
        states = inputs[0]  # (texts, tokens, heads * size)
        weight = kept_heads(len(states), heads, rate, states.device).to(states.dtype)
        scaled = states.unflatten(-1, (heads, -1)) * weight[:, None, :, None]
        return scaled.flatten(-2), *inputs[1:]

    return hook
