"""The training texts of an exported folder with their embeddings (`phasefit export --with-texts`). Imports no torch."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import numpy as np
from numpy.lib import format as npy

from phasefit.data.labels import LabelSpace
from phasefit.data.table import label_name
from phasefit.errors import ModelError
from phasefit.explain.training_texts import TrainingTexts
from phasefit.files.manifest import EXPORTED_TEXTS as TEXTS
from phasefit.files.manifest import EXPORTED_VECTORS as VECTORS
from phasefit.models.exported import ExportedModel

LARGEST = 1 << 30  # bytes of a file


def exported_texts(model: ExportedModel, task: str) -> tuple[TrainingTexts, np.ndarray]:
    """The texts of a task and their embeddings (n, d); ModelError if there are none or the files are damaged."""
    folder, files = model.runtime.folder, model.runtime.manifest.files
    if TEXTS not in files or VECTORS not in files:
        raise ModelError(f"'{folder}' contains no training texts; add them with: phasefit export RUN --with-texts")
    for name in (TEXTS, VECTORS):
        if files[name].size > LARGEST:
            raise ModelError(f"'{folder / name}' must not be larger than {LARGEST:,} bytes; export the run again")
    try:
        space = model.space_of(task)
        rows = [_row(line, space) for line in model.read_file(TEXTS).decode("utf-8").splitlines() if line]
        vectors = _vectors(model.read_file(VECTORS), (len(rows), model.runtime.manifest.dimension))
    except (ValueError, TypeError, RecursionError):  # of JSON, UTF-8, a wrong field or a wrong shape
        raise ModelError(f"the training texts in '{folder}' are damaged; export the run again") from None
    own = [place for place, row in enumerate(rows) if row.get("task", task) == task]
    if not own:
        raise ModelError(f"'{folder}' contains no training texts of the task '{task}'")
    texts = tuple(rows[place]["text"] for place in own)
    return TrainingTexts(texts, tuple(rows[place]["label"] for place in own), len(own)), vectors[own]


def _row(line: str, space: LabelSpace) -> dict[str, Any]:
    """A line of the file, with the label as text."""
    row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise ValueError("text")
    label = row.get("label")
    if isinstance(label, list):  # a path, or several labels
        label = label_name(tuple(label) if space.kind == "tree" else frozenset(label))
    elif isinstance(label, str | int | float):
        label = space.name(label)
    elif label is not None:
        raise ValueError("label")
    return {**row, "label": label or ""}


def _vectors(content: bytes, shape: tuple[int, int]) -> np.ndarray:
    """The numbers of an .npy file of float16 with this shape.

    > Why not np.load: it allocates what the header states before it reads.
    """
    file = BytesIO(content)
    if npy.read_magic(file) != (1, 0):
        raise ValueError("version")
    stated, is_fortran, kind = npy.read_array_header_1_0(file)
    if (stated, is_fortran, kind) != (shape, False, np.dtype(np.float16)):
        raise ValueError("header")
    vectors = np.frombuffer(content, np.float16, offset=file.tell()).reshape(shape).astype(np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("values")
    return vectors
