"""Variants of a text: without the words that a model does not read, and without some of those that it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from phasefit.errors import TextsCut
from phasefit.explain.reading import ReadRow
from phasefit.explain.words import without
from phasefit.models.predictor import Predictor

AT_ONCE = 512  # variants that are predicted together; bounds memory


def variant(row: ReadRow, deleted: Collection[int] = ()) -> Any:
    """The text or pair without these words; words that the model does not read are always left out.

    Otherwise deleting a word of a long text would bring in another one at the cut.
    """
    gone = {*np.flatnonzero(~row.read).tolist(), *deleted}
    texts = []
    for side, text in enumerate(row.sides):
        own = [position for position, word in enumerate(row.words) if word.side == side]
        first = own[0] if own else 0
        words = [row.words[position] for position in own]
        texts.append(
            without(text, words, {position - first for position in gone if first <= position < first + len(own)})
        )
    return texts[0] if len(texts) == 1 else tuple(texts)


def outputs_of(model: Predictor, task: str, variants: Sequence[Any], batch_size: int) -> np.ndarray:
    """The outputs of variants of texts; cut texts are reported elsewhere."""
    with cut_quietly():
        return model.predict_outputs(variants, task=task, batch_size=batch_size)


@contextmanager
def cut_quietly() -> Iterator[None]:
    """Without the warning about cut texts: explanations state which words are cut."""
    with catch_warnings():
        simplefilter("ignore", TextsCut)
        yield
