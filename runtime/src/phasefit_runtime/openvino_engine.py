"""OpenVINO; the only file that imports it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from phasefit_runtime.engine import failure
from phasefit_runtime.errors import ExportError
from phasefit_runtime.files import AGAIN


class OpenVinoEngine:
    """A compiled model on the CPU."""

    def __init__(self, network: bytes, weights: bytes, threads: int | None) -> None:
        try:
            import openvino
        except ImportError:
            raise ExportError(
                "this folder was exported for OpenVINO, which is not installed; install it: pip install openvino"
            ) from None
        core = _core()
        self._requests = threading.local()
        settings: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        if threads:
            settings["INFERENCE_NUM_THREADS"] = threads
        try:
            constants = openvino.Tensor(np.frombuffer(weights, dtype=np.uint8))
            self._model: Any = core.compile_model(core.read_model(network, constants), "CPU", settings)
        except Exception as error:
            raise ExportError(f"OpenVINO cannot load the model ({failure(error)}); {AGAIN}") from error

    @property
    def inputs(self) -> set[str]:
        """The names of its inputs."""
        return {str(port.any_name) for port in self._model.inputs}

    @property
    def outputs(self) -> set[str]:
        """The names of its outputs."""
        return {str(name) for port in self._model.outputs for name in port.names}

    def run(self, output: str, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
        """One of its outputs, copied: a request reuses its memory, so each thread has its own."""
        try:
            if not hasattr(self._requests, "own"):
                self._requests.own = self._model.create_infer_request()
            request = self._requests.own
            request.infer(dict(feeds), share_inputs=True)
            return np.array(request.get_tensor(output).data)
        except Exception as error:
            raise ExportError(f"OpenVINO cannot run the model ({failure(error)}); {AGAIN}") from error


@cache
def _core() -> Any:
    """The only Core of the process, which is never deleted.

    It gives the thread that creates it a stack for signals. If another thread deletes it, as a server that reloads its
    models does, that stack is gone, and the next signal ends the process with a segmentation fault.
    """
    import openvino

    return openvino.Core()
