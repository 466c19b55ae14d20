"""Hashes of the texts a run was trained on: a run that continues from it must not score them as new texts.

Imports no torch: rows are split before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from phasefit.data.equal_texts import same_text_hashes
from phasefit.errors import ModelError, RunError
from phasefit.files.atomic import write_file

SEEN = "trained_on.safetensors"


def write_seen(
    folder: Path, texts: Iterable[str], before: np.ndarray | None = None, rows: Iterable[np.ndarray] = ()
) -> None:
    """Save the hashes of this run's texts and of those `before` it; `rows` are hashes of whole rows (`Table.same`)."""
    from safetensors.numpy import save_file

    earlier = before if before is not None else np.empty(0, np.int64)
    hashes = np.unique(np.concatenate([same_text_hashes(texts), earlier, *rows]))
    try:
        write_file(folder / SEEN, lambda temporary: save_file({"texts": hashes}, temporary))
    except OSError as error:
        raise RunError(f"{folder / SEEN} cannot be written: {error.strerror or error}") from error


def read_seen(folder: Path) -> np.ndarray:
    """The hashes of a run's training texts; empty for a model saved without them."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / SEEN
    if not path.is_file():
        return np.empty(0, dtype=np.int64)
    try:
        hashes: np.ndarray = load_file(path)["texts"]
    except (OSError, KeyError, SafetensorError) as error:
        raise ModelError(f"'{path}' is damaged; train the model again") from error
    if hashes.ndim != 1 or hashes.dtype != np.int64:
        raise ModelError(f"'{path}' is damaged: it has no list of hashes; train the model again")
    return hashes
