"""Noise in the encoder while a block runs: dropout at another rate, and DropHead.

DropHead drops whole attention heads during training (Zhou et al., 2020), as noise instead of dropout.

> Why not a library's: transformers 5 no longer accepts `head_mask`. In all families, the output of a head is a slice of
> the input of the attention's output projection, so a hook before that projection is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from phasefit.errors import ModelError
from phasefit.models.encoder.encoder import Encoder

# The suffix of the output projection's name, by the `model_type` of the configuration.
_BERT = ".attention.output.dense"
PROJECTIONS = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "camembert", "electra", "deberta", "deberta-v2"), _BERT),
    "distilbert": ".attention.out_lin",
    "albert": ".attention.dense",
    "mpnet": ".attention.attn.o",
    "modernbert": ".attn.Wo",
}


def dropout_rates(encoder: Encoder) -> list[float]:
    """The dropout rates of all places in the Transformer."""
    return [getattr(part, name) for part, name in _places(encoder.transformer)]


@contextmanager
def dropout_rate(encoder: Encoder, rate: float | None) -> Iterator[None]:
    """Set all dropout rates of the Transformer while the block runs; None keeps them."""
    places = [] if rate is None else [(part, name, getattr(part, name)) for part, name in _places(encoder.transformer)]
    try:
        for part, name, _ in places:
            setattr(part, name, rate)
        yield
    finally:
        for part, name, before in places:
            setattr(part, name, before)


def set_dropout(module: nn.Module, rate: float) -> None:
    """Set all dropout rates of a module."""
    for part, name in list(_places(module)):
        setattr(part, name, rate)


def _places(module: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Dropout layers, and the attributes that some families (ModernBERT) use for the dropout inside attention."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            yield part, "p"
        else:
            yield from ((part, name) for name, value in vars(part).items() if _is_rate(name, value))


def _is_rate(name: str, value: object) -> bool:
    return "dropout" in name and isinstance(value, float)


@contextmanager
def dropped_heads(encoder: Encoder, rate: float) -> Iterator[None]:
    """Drop each head with probability `rate` while the block runs, in modules in training mode, for each text.

    The remaining heads are scaled up to keep the sum, and one always remains. Drawn from torch's default generator.
    """
    heads = int(encoder.transformer.config.num_attention_heads) if rate else 0
    with ExitStack() as hooks:
        for projection in attention_projections(encoder) if rate else ():
            hooks.callback(projection.register_forward_pre_hook(_head_dropper(heads, rate)).remove)
        if rate:
            hooks.enter_context(encoder.packing.off())  # heads are dropped text by text
        yield


def attention_projections(encoder: Encoder) -> list[nn.Module]:
    """The output projection of each attention layer; raises a ModelError for unknown families."""
    family = str(getattr(encoder.transformer.config, "model_type", "unknown"))
    suffix = PROJECTIONS.get(family)
    projections = [part for name, part in encoder.transformer.named_modules() if suffix and name.endswith(suffix)]
    if not projections:
        raise ModelError(
            f"model '{encoder.name}' is of type '{family}', whose attention heads cannot be dropped; use dropout "
            f"instead, or a model of one of these types: {', '.join(PROJECTIONS)}"
        )
    return projections


def kept_heads(texts: int, heads: int, rate: float, device: torch.device) -> Tensor:
    """The weight of each head for each text, (texts, heads): 0, or heads / remaining heads."""
    draw = torch.rand(texts, heads, device=device)
    kept = draw >= rate
    kept |= draw == draw.max(dim=1, keepdim=True).values  # the head with the highest draw always stays
    return kept * (heads / kept.sum(dim=1, keepdim=True))


def _head_dropper(heads: int, rate: float) -> Callable[[nn.Module, tuple[Tensor, ...]], tuple[Tensor, ...] | None]:
    def hook(projection: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        if not projection.training:
            return None
        states = inputs[0]  # (texts, tokens, heads * size)
        weight = kept_heads(len(states), heads, rate, states.device).to(states.dtype)
        scaled = states.unflatten(-1, (heads, -1)) * weight[:, None, :, None]
        return scaled.flatten(-2), *inputs[1:]

    return hook
