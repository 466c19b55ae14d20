"""The depth of each parameter of a Transformer, and freezing of the lower layers.

The lowest, most general layers should change least. Frozen layers need no gradient, which is most of the cost of a
step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from phasefit.errors import RecipeError

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder


def layers_above(transformer: nn.Module) -> dict[int, int]:
    """The number of layers above each parameter, by its `id`; embeddings are below all layers.

    A parameter that is in no layer and not an embedding (a final norm) has none above.
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
    """Freeze the lowest `layers` layers and everything below, and with `words` the word embeddings; train the rest."""
    transformer: nn.Module = encoder.transformer
    count = len(layers_of(transformer))
    if layers > count:
        raise RecipeError(
            f"{where}: frozen_layers = {layers}, but model '{encoder.name}' has {count} layers; use {count} or fewer"
        )
    above = layers_above(transformer)
    for name, parameter in transformer.named_parameters():
        learns = not layers or above[id(parameter)] < count - layers
        parameter.requires_grad_(learns and name not in encoder.always_frozen)
    if words:
        for parameter in encoder.transformer.get_input_embeddings().parameters():
            parameter.requires_grad_(False)


def freeze_unused_pooler(transformer: nn.Module) -> None:
    """Freeze BERT's pooler: the forward pass does not use it, and missing gradients stop distributed training."""
    for name, parameter in transformer.named_parameters():
        if name.startswith("pooler."):
            parameter.requires_grad_(False)


def layers_of(transformer: nn.Module) -> nn.ModuleList:
    """The layers of the Transformer: in every family, the longest list of modules, the outermost one of equals.

    If layers share their weights (ALBERT), there is one.
    """
    lists = [(name, part) for name, part in transformer.named_modules() if isinstance(part, nn.ModuleList)]
    return max(lists, key=lambda named: (len(named[1]), -named[0].count(".")), default=("", nn.ModuleList()))[1]
