"""Models of every kind to export, and the rows to check them on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from phasefit.data.labels import label_space
from phasefit.data.table import Table
from phasefit.export import folder as files
from phasefit.export import onnx_library
from phasefit.export.graph import Graph, eager_attention
from phasefit.kinds.decision import Decision
from phasefit.models.heads import Head
from phasefit.models.model import Model
from phasefit.runs.run import Run
from tiny import fresh_model, make_table

KINDS = ("single", "multi", "tree", "score")
PAIRS = (None, "uv", "uv_diff_prod", "cosine", "together")
HEADS = {None: "mlp", "uv": "linear", "uv_diff_prod": "cosine", "cosine": "linear", "together": "paper"}
ROWS = 24


def labels_of(kind: str, rows: int = ROWS) -> list[Any]:
    names = ["music", "weather", "food"]
    own = [names[row % 3] for row in range(rows)]
    return {
        "single": own,
        "multi": [frozenset(names[: row % 3]) for row in range(rows)],
        "tree": [("all", name) for name in own],
        "score": [10 + 2.5 * (row % 7) for row in range(rows)],
    }[kind]


def decision_of(kind: str, classes: int) -> Decision:
    return {
        "single": Decision(0.6, 0.35),
        "multi": Decision(1.7, thresholds=tuple(np.linspace(0.3, 0.6, classes).tolist())),
        "tree": Decision(2.5),
        "score": Decision(),
    }[kind]


def add_task(model: Model, task: str, kind: str, pair: Any = None) -> None:
    """A random head that decides clearly."""
    space = label_space(labels_of(kind))
    head = Head(HEADS[pair], model.encoder.dimension, space.outputs, seed=len(model.heads), pair=pair)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7)))
    model.heads[task], model.spaces[task] = head.eval(), space
    model.decisions[task] = decision_of(kind, space.outputs)


def table_of(kind: str, pair: Any = None, rows: int = ROWS) -> Table:
    """Rows with labels; some texts are long enough for several windows."""
    texts, _ = make_table(rows + 1)
    texts = [text if row % 5 else " ".join([text] * (row + 2)) for row, text in enumerate(texts)]
    others = (texts[1:],) if pair else ()
    return Table("table", texts[:-1], labels_of(kind, rows), others=others, kind=kind)


def one_task(folder: Path, kind: str = "single", pair: Any = None) -> Model:
    model = fresh_model(folder)
    add_task(model, "default", kind, pair)
    return model.eval()


def write_export(model: Model, folder: Path, *, int8: bool = False) -> Path:
    """A complete folder, without checks."""
    folder.mkdir(parents=True)
    graph = Graph(model)
    with eager_attention(model):
        onnx_library.write_onnx(graph, folder / "model.onnx")
    if int8:
        onnx_library.quantise_onnx(folder / "model.onnx", folder / "model.onnx")
    files.write_tokenizer(model, folder)
    facts = files.describe(Run("run"), model, graph, "onnx", "int8" if int8 else "fp32")
    files.write_manifest(folder, facts)
    return folder
