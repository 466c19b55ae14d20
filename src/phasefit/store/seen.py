"""Which texts a run was trained on, as hashes: who goes on from it must not score them as if they were new.

Imports no torch: splits are made before it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from phasefit.errors import ModelError

SEEN = "trained_on.safetensors"


def text_hashes(texts: Iterable[str]) -> np.ndarray:
    """One 64-bit number per text."""
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def write_seen(folder: Path, texts: Iterable[str], before: np.ndarray | None = None) -> None:
    """Note the texts of this run and those of the run it went on from."""
    from safetensors.numpy import save_file

    hashes = np.unique(np.concatenate([text_hashes(texts), before if before is not None else np.empty(0, np.int64)]))
    save_file({"texts": hashes}, folder / SEEN)


def read_seen(folder: Path) -> np.ndarray:
    """The hashes of a run's training texts; none for a model that was saved without them."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / SEEN
    if not path.is_file():
        return np.empty(0, dtype=np.int64)
    try:
        found: np.ndarray = load_file(path)["texts"]
    except (OSError, KeyError, SafetensorError) as error:
        raise ModelError(f"'{path}' is damaged; train the model again") from error
    return found
