"""`torch.compile` for the Transformer's layers, where it pays: on GPUs, and on CPUs with many steps ahead.

Layer by layer and not as a whole: all layers share one compiled function, and batches of any size and length fit it.
"""

from __future__ import annotations

import shutil

from phasefit.errors import PhasefitError
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.freezing import layers_of

COMPILERS = ("g++", "c++", "clang++", "cl")


def compile_layers(encoder: Encoder, backend: str = "inductor") -> None:
    """From now on each layer runs compiled; weights and what is saved stay as they are."""
    if backend == "inductor" and not any(map(shutil.which, COMPILERS)):
        raise PhasefitError("--compile needs a C++ compiler, and none of g++, c++, clang++ was found; leave it out")
    for layer in layers_of(encoder.transformer):
        layer.compile(dynamic=True, backend=backend)
