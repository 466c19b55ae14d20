"""ONNX: write a graph and quantise it; the only file that imports onnx and onnxruntime's quantisation."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import MissingExtra, ModelError

if TYPE_CHECKING:
    from phasefit.export.graph import Graph

OPSET = 17  # the first with LayerNormalization as one operation
LARGEST = 1_900_000_000  # bytes of weights: a file of the format must be smaller than 2 GiB
HEADS = "/heads"  # how the names of the nodes of heads start
NARROWING = 2  # a product is one to keep in float32 if its input is at least this many times as wide as its output


def check_installed() -> None:
    """Raise a MissingExtra if a library is not installed."""
    if not all(map(find_spec, ("onnx", "onnxruntime", "phasefit_runtime"))):
        raise MissingExtra(
            "phasefit export needs ONNX, ONNX Runtime and phasefit-runtime; install them with: "
            "pip install 'phasefit[export]'"
        )


def write_onnx(graph: Graph, path: Path) -> None:
    """Trace the graph and write it; rows and length are dynamic.

    The older exporter of torch is used: its graph takes 2 s instead of 14 s to write, and ONNX Runtime fuses its
    attention, which it does not in the graph of the newer one.
    """
    import torch

    size = sum(parameter.numel() * 4 for parameter in graph.parameters())
    if size > LARGEST:
        raise ModelError(f"the model has {size / 1e9:.1f} GB of weights, and an ONNX file holds at most 2 GB")
    axes = {name: {0: "rows", 1: "length"} for name in graph.inputs[:2]} | {
        name: {0: "texts" if place == 0 or graph.heads[place - 1].pair is None else "pairs"}
        for place, name in enumerate(graph.outputs)
    }
    try:
        with _quiet(), torch.no_grad():
            torch.onnx.export(
                graph.eval(),
                graph.example(),
                str(path),
                dynamo=False,
                opset_version=OPSET,
                input_names=graph.inputs,
                output_names=graph.outputs,
                dynamic_axes=axes,
            )
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise ModelError(f"torch cannot write this model as an ONNX graph ({reason})") from error


def quantise_onnx(source: Path, target: Path, *, keep_narrowing: bool = False) -> None:
    """Write the graph with int8 weights (one scale per channel) and activations that are quantised on the fly.

    Heads stay in float32: they are small. With `keep_narrowing`, so do the products that end each feed-forward block,
    whose inputs have outliers.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(str(source))
    kept = [node.name for node in model.graph.node if node.name.startswith(HEADS)]
    if keep_narrowing:
        kept += _narrowing(model)
    del model.graph.value_info[:]  # shapes that quantisation would contradict
    try:
        with _quiet():
            quantize_dynamic(
                model,
                str(target),
                per_channel=True,
                weight_type=QuantType.QInt8,
                nodes_to_exclude=kept,
                extra_options={"MatMulConstBOnly": True, "DefaultTensorType": onnx.TensorProto.FLOAT},
            )
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise ModelError(f"ONNX Runtime cannot quantise this model ({reason}); export without --int8") from error


def _narrowing(model: Any) -> list[str]:
    """The names of products whose weights have many more inputs than outputs."""
    shapes = {weight.name: tuple(weight.dims) for weight in model.graph.initializer}
    return [
        node.name
        for node in model.graph.node
        if node.op_type == "MatMul" and len(shape := shapes.get(node.input[1], ())) == 2
        if shape[0] >= NARROWING * shape[1]
    ]


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress what the libraries warn about: tracing, which the checks cover, and deprecations."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
