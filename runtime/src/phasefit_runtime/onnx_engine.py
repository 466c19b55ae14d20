"""ONNX Runtime; the only file that imports it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnxruntime

from phasefit_runtime.engine import failure
from phasefit_runtime.errors import ExportError
from phasefit_runtime.files import AGAIN
from phasefit_runtime.onnx_file import refuse_unusual_models

SILENT = 4  # only fatal messages: errors are raised, and nothing else may write to standard error


class OnnxEngine:
    """A session on the CPU."""

    def __init__(self, model: bytes, threads: int | None) -> None:
        refuse_unusual_models(model)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = SILENT
        options.intra_op_num_threads = threads or 0
        options.inter_op_num_threads = 1
        options.add_session_config_entry(
            "session.load_model_format", "ONNX"
        )  # never guess a format that was not checked
        options.enable_mem_pattern = False  # plans memory for one shape; here, each batch has its own
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ExportError(f"ONNX Runtime cannot load the model ({failure(error)}); {AGAIN}") from error

    @property
    def inputs(self) -> set[str]:
        """The names of its inputs."""
        return {value.name for value in self._session.get_inputs()}

    @property
    def outputs(self) -> set[str]:
        """The names of its outputs."""
        return {value.name for value in self._session.get_outputs()}

    def run(self, output: str, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
        """One of its outputs."""
        try:
            return np.asarray(self._session.run([output], dict(feeds))[0])
        except Exception as error:
            raise ExportError(f"ONNX Runtime cannot run the model ({failure(error)}); {AGAIN}") from error
