"""`torch.compile` for the layers of the Transformer; worthwhile on GPUs, and on CPUs for many steps.

It compiles layer by layer: all layers share one compiled function that accepts batches of any size and length.
"""

from __future__ import annotations

import shutil

from phasefit.errors import PhasefitError
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.freezing import layers_of

COMPILERS = ("g++", "c++", "clang++", "cl")


def compile_layers(encoder: Encoder, backend: str = "inductor") -> None:
    """Compile each layer; weights and saved files do not change."""
    if backend == "inductor" and not any(map(shutil.which, COMPILERS)):
        raise PhasefitError(
            "--compile needs a C++ compiler, and none of g++, c++, clang++ was found; install one, or remove --compile"
        )
    for layer in layers_of(encoder.transformer):
        layer.compile(dynamic=True, backend=backend)
