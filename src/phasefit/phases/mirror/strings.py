"""Random strings in the place of texts: what is left to learn from when there is no meaning?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import overload

import numpy as np

from phasefit.seeds import generator

_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
_WORD = re.compile(r"\S+")


class RandomStrings(Sequence[str]):
    """For each text a string with words of the same lengths, of random letters: always the same one for a row."""

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
