from __future__ import annotations

import errno
import gc
import os
from pathlib import Path

import numpy as np
import pytest

from phasefit.errors import DataError
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.tokens import store as token_store
from phasefit.models.tokens.noise import delete_words
from phasefit.models.tokens.store import GrowingNumbers


def mapped_files() -> int:
    """Deleted temporary files of phasefit that this process still maps."""
    return Path("/proc/self/maps").read_text().count("(deleted)")


@pytest.mark.parametrize("limit", [0, 5, 6, 10**6])
def test_numbers_come_back_in_order(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(token_store, "IN_MEMORY", limit)
    numbers, parts = GrowingNumbers(), [np.arange(3), np.arange(0), np.arange(-4, 4), np.arange(2)]
    for part in parts:
        numbers.append(part)
    array = numbers.finish()
    assert type(array) is np.ndarray
    assert array.dtype == np.int32
    assert array.tolist() == np.concatenate(parts).tolist()


@pytest.mark.parametrize("limit", [0, 100])
def test_an_empty_store(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(token_store, "IN_MEMORY", limit)
    assert GrowingNumbers().finish().tolist() == []


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux's list of mapped files")
def test_tokens_in_a_file_equal_those_in_memory_and_the_file_is_removed(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(str(tiny_folder))
    texts = ["the song of rain", "storm and wind today", ""] * 5
    held = encoder.tokenise(texts)
    monkeypatch.setattr(token_store.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(token_store, "IN_MEMORY", 10)
    before = mapped_files()
    mapped = encoder.tokenise(texts)
    assert mapped_files() > before, "they are not in memory"
    assert list(tmp_path.iterdir()) == [], "the file has no name, so nothing is left when the run is killed"
    rows = np.array([3, 0, 7])
    for damage in (lambda t: t.batch(rows), lambda t: delete_words(t, rows, 0.5, np.random.default_rng(0))):
        left, right = damage(held), damage(mapped)
        assert all(np.array_equal(left[name], right[name]) for name in left)
    del mapped
    gc.collect()
    assert mapped_files() == before


def test_a_full_disk_is_a_short_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(token_store, "IN_MEMORY", 1)
    monkeypatch.setattr(token_store.tempfile, "TemporaryFile", full)
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        GrowingNumbers().append(np.arange(5))
