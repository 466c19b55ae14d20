"""How deep each parameter of a Transformer lies, and which of them stay as they are.

What was learned first and widest should change least; what does not change at all needs no gradient, which is most of
the price of a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from phasefit.errors import RecipeError

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder


def layers_above(transformer: nn.Module) -> dict[int, int]:
    """How many layers stand above each parameter, by its `id`; embeddings lie below all of them.

    What belongs to no layer and is no embedding (a last norm) has none above.
    """
    layers = layers_of(transformer)
    above = {id(parameter): 0 for parameter in transformer.parameters()}
    for place, layer in enumerate(layers):
        above |= {id(parameter): len(layers) - 1 - place for parameter in layer.parameters()}
    lowest = [part for name, part in transformer.named_children() if "embed" in name.lower()]
    for part in (*lowest, transformer.get_input_embeddings()):  # type: ignore[operator]
        above |= {id(parameter): len(layers) for parameter in part.parameters()}
    return above


def freeze_below(encoder: Encoder, layers: int, *, words: bool, where: str) -> None:
    """So many lowest layers and what lies below them stay as they are from now on, perhaps the word vectors; all else
    of the Transformer learns.
    """
    transformer: nn.Module = encoder.transformer
    count = len(layers_of(transformer))
    if layers > count:
        raise RecipeError(f"{where}: frozen_layers = {layers}, but model '{encoder.name}' has {count}; give fewer")
    above = layers_above(transformer)
    for name, parameter in transformer.named_parameters():
        learns = not layers or above[id(parameter)] < count - layers
        parameter.requires_grad_(learns and name not in encoder.always_frozen)
    if words:
        for parameter in encoder.transformer.get_input_embeddings().parameters():
            parameter.requires_grad_(False)


def freeze_unused_pooler(transformer: nn.Module) -> None:
    """BERT's pooler is outside our forward pass: it would get no gradient, which stops distributed training."""
    for name, parameter in transformer.named_parameters():
        if name.startswith("pooler."):
            parameter.requires_grad_(False)


def layers_of(transformer: nn.Module) -> nn.ModuleList:
    """The longest list of modules, the one nearest to the top among equals: that holds for every family.

    Where layers share their weights (ALBERT) there is one.
    """
    lists = [(name, part) for name, part in transformer.named_modules() if isinstance(part, nn.ModuleList)]
    return max(lists, key=lambda named: (len(named[1]), -named[0].count(".")), default=("", nn.ModuleList()))[1]
