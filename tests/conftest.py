"""What all tests share: a tiny encoder of every family, made once per session, and no network."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

TinyEncoder = Callable[..., Path]


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> TinyEncoder:
    """`tiny_encoder("roberta", normalize=False, dropout=0.0)` -> a folder, the same for the same wishes."""
    from tiny import save_tiny

    made: dict[tuple[object, ...], Path] = {}

    def make(family: str = "bert", *, normalize: bool = True, dropout: float = 0.1) -> Path:
        key = (family, normalize, dropout)
        if key not in made:
            made[key] = save_tiny(tmp_path_factory.mktemp(family), family, normalize=normalize, dropout=dropout)
        return made[key]

    return make


@pytest.fixture(scope="session")
def tiny_folder(tiny_encoder: TinyEncoder) -> Path:
    """The folder of the tiny BERT; ends in Normalize, like the default model."""
    return tiny_encoder("bert")
