"""Silences the progress bars and reports of other libraries for a block; phasefit shows its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """No progress bars, loading reports or advice from transformers and sentence-transformers."""
    from transformers.utils import logging as transformers_logging

    sentences = logging.getLogger("sentence_transformers")
    before = sentences.level, transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    sentences.setLevel(logging.ERROR)  # hides "creating one with mean pooling", which is intended
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        sentences.setLevel(before[0])
        transformers_logging.set_verbosity(before[1])
        if before[2]:
            transformers_logging.enable_progress_bar()
