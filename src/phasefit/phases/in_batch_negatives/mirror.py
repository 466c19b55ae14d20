"""Mirror-BERT (Liu et al., EMNLP 2021): the noise of its views."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import overload

import numpy as np

from phasefit.models.model import Model
from phasefit.models.views import Views, build_views
from phasefit.phases.contract import PhaseData
from phasefit.phases.in_batch_negatives.options import MirrorOptions
from phasefit.phases.in_batch_negatives.phase import InBatchNegatives
from phasefit.phases.in_batch_negatives.sides import TwoViews
from phasefit.seeds import derive, generator

_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
_WORD = re.compile(r"\S+")


class Mirror(InBatchNegatives):
    """Masks one span of the second view; dropout or dropped attention heads change both views."""

    options: MirrorOptions

    def __init__(self, name: str, options: MirrorOptions, model: Model, data: PhaseData, seed: int) -> None:
        view_options = list(options.views)
        if options.span:
            span = {"name": "mask-span", "characters": options.span, "min_characters": options.min_characters}
            view_options.insert(0, span)
        views = Views(build_views(name, view_options), model.encoder, where=name)
        replacements = RandomStrings(data.texts, derive(seed, name)) if options.random_strings else None
        sides = TwoViews(model.encoder, data, views, replacements=replacements)
        dropout = 0.0 if options.drop_head else options.dropout
        super().__init__(name, options, model, data, seed, sides=sides, dropout=dropout, drop_head=options.drop_head)


class RandomStrings(Sequence[str]):
    """Texts with every word replaced by random letters of the same length; the same string for a row each time.

    For measuring what can be learned from texts without meaning.
    """

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._texts, self._seed = texts, seed

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        random = generator(self._seed, "random-string", row)
        return _WORD.sub(lambda word: "".join(random.choice(_LETTERS, len(word.group()))), self._texts[row])
