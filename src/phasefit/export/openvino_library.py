"""OpenVINO and NNCF: convert a graph and quantise it; the only file of phasefit that imports them."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from phasefit.errors import MissingExtra, ModelError

Feeds = Mapping[str, np.ndarray]


def check_installed(*, quantise: bool) -> None:
    """Raise a MissingExtra if a library is not installed."""
    if not all(map(find_spec, ("openvino", *(["nncf"] if quantise else [])))):
        raise MissingExtra(
            "--format openvino needs OpenVINO and NNCF; install them with: pip install 'phasefit[openvino]'"
        )


def write_openvino(source: Path, target: Path, calibration: Sequence[Feeds] = ()) -> None:
    """Convert an ONNX file to `target` (.xml, with a .bin next to it); with calibration batches, to int8.

    Quantisation is static: activations get fixed scales from the calibration batches, after SmoothQuant has moved
    outliers from activations to weights.
    """
    import openvino

    try:
        with _quiet():
            model = openvino.convert_model(str(source))
            if calibration:
                model = _quantised(model, calibration)
            openvino.save_model(model, str(target), compress_to_fp16=False)
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise ModelError(f"OpenVINO cannot convert this model ({reason}); use --format onnx") from error


def _quantised(model: Any, calibration: Sequence[Feeds]) -> Any:
    import nncf

    return nncf.quantize(
        model,
        nncf.Dataset([dict(feeds) for feeds in calibration]),
        model_type=nncf.ModelType.TRANSFORMER,
        subset_size=len(calibration),
        ignored_scope=nncf.IgnoredScope(patterns=["/heads.*"], validate=False),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the progress bars and warnings of the libraries."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
