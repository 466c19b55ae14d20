"""An engine runs the graph of an exported folder; each library is imported by one file, when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from phasefit_runtime.errors import ExportError
from phasefit_runtime.files import AGAIN, read_checked
from phasefit_runtime.manifest import EMBEDDING, ENGINES, WINDOWS, Manifest


class Engine(Protocol):
    """A loaded graph."""

    @property
    def inputs(self) -> set[str]:
        """The names of its inputs."""
        ...

    @property
    def outputs(self) -> set[str]:
        """The names of its outputs."""
        ...

    def run(self, output: str, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
        """One of its outputs for these inputs; may be called from several threads."""
        ...


def load_engine(folder: Path, manifest: Manifest, threads: int | None) -> Engine:
    """The engine of a folder, whose inputs and outputs are those of the manifest."""
    parts = [read_checked(folder, name, manifest.files) for name in ENGINES[manifest.engine]]
    engine: Engine
    if manifest.engine == "onnx":
        from phasefit_runtime.onnx_engine import OnnxEngine

        engine = OnnxEngine(parts[0], threads)
    else:
        from phasefit_runtime.openvino_engine import OpenVinoEngine

        engine = OpenVinoEngine(parts[0], parts[1], threads)
    tokens = manifest.tokens
    expected = {*tokens.inputs, *([WINDOWS] if tokens.long == "windows" else [])}
    if engine.inputs != expected:
        named = f"{', '.join(sorted(engine.inputs))} instead of {', '.join(sorted(expected))}"
        raise ExportError(f"the model in '{folder}' has the inputs {named}; {AGAIN}")
    for name in (EMBEDDING, *(task.output for task in manifest.tasks.values())):
        if name not in engine.outputs:
            raise ExportError(f"the model in '{folder}' has no output '{name}'; {AGAIN}")
    return engine


def failure(error: Exception) -> str:
    """What a library reports about a failure, shortened to fit into a sentence."""
    return " ".join(str(error).split())[:200] or type(error).__name__
