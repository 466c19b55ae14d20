from __future__ import annotations

import pytest

from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.encoder.freezing import layers_above
from tiny import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_embeddings_are_below_every_layer(tiny_encoder, family: str) -> None:
    transformer = load_encoder(str(tiny_encoder(family))).transformer
    above = layers_above(transformer)
    assert above.keys() == {id(p) for p in transformer.parameters()}
    words = above[id(transformer.get_input_embeddings().weight)]
    layers = 1 if family == "albert" else transformer.config.num_hidden_layers  # ALBERT's layers share their weights
    assert words == layers
    assert {depth for depth in above.values() if depth < words} == set(range(words))
