"""The view `synonyms`, and the table of synonyms that it reads: a packaged one, or a file (CSV, or TSV by its suffix).

With the header `word,synonym`, each line holds a word and its replacement, in this direction only. Without it, each
line is a group of interchangeable words. A synonym may be a phrase, but only single words are replaced.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

import phasefit.data
from phasefit.data.io.files import open_bytes, readable, refuse_other_content
from phasefit.errors import DataError
from phasefit.models.views.contract import View
from phasefit.models.views.words import core, words_of

PACKAGED = Path(phasefit.data.__file__).parent / "synonyms"
HEADER = ["word", "synonym"]
FORMAT = (
    "each line is a group of interchangeable words (rain,shower,drizzle) or, below the header word,synonym, a word and "
    "its replacement; separate them by commas, or by tabs in a .tsv file"
)


@dataclass(frozen=True)
class Synonyms(View):
    """Replaces each word listed in `table`, with probability `ratio`, by one of its synonyms at random.

    With `max_words`, the number of replaced words is fixed: the share `ratio` of all words of the text, at least one
    and at most `max_words`, as far as the table lists them. A capital first letter, whitespace and punctuation are
    kept. `table` is the packaged table "english" (from WordNet), or a CSV file (or TSV, by its suffix). Each line is a
    group of interchangeable words, such as `rain,shower,drizzle`; or, below the header `word,synonym`, a word and its
    replacement, in this direction only. Upper and lower case are not distinguished; a synonym may be several words.
    """

    table: str = "english"
    ratio: Annotated[float, Field(ge=0, le=1)] = 0.3
    max_words: Annotated[int, Field(ge=1)] | None = None

    name: ClassVar[str] = "synonyms"

    @cached_property
    def _synonyms(self) -> dict[str, tuple[str, ...]]:
        packaged = PACKAGED / f"{self.table}.csv.gz"
        known = {path.name for path in PACKAGED.glob("*.csv.gz")}
        return read_synonyms(packaged if packaged.name in known else Path(self.table))

    def check(self) -> None:
        """Read the table."""
        _ = self._synonyms

    def notes(self) -> list[str]:
        """The size of the table."""
        words = f"{len(self._synonyms):,} word{'s' * (len(self._synonyms) > 1)}"
        return [f"'{self.table}' has synonyms for {words}"]

    def text_notes(self, texts: Sequence[str]) -> list[str]:
        """A warning if the table lists no word of the texts, as for texts in another language."""
        if not texts or any(self._listed(words_of(text)).any() for text in texts):
            return []
        return [f"'{self.table}' has no word of the training texts, so they stay unchanged; pass your own table"]

    def text(self, text: str, random: np.random.Generator, mask: str) -> str:
        """The text with some of its words replaced."""
        words = words_of(text)
        tail = text[sum(map(len, words)) :]
        draw, pick = random.random((2, len(words)))
        for place in self._places(words, draw):
            before, word, after = core(words[place])
            choices = self._synonyms[word.casefold()]
            chosen = choices[int(pick[place] * len(choices))]
            words[place] = before + _cased_like(word, chosen) + after
        return "".join(words) + tail

    def _listed(self, words: Sequence[str]) -> np.ndarray:
        return np.array([core(word)[1].casefold() in self._synonyms for word in words], dtype=bool)

    def _places(self, words: Sequence[str], draw: np.ndarray) -> list[int]:
        """The places of the words to replace."""
        listed = self._listed(words)
        if self.max_words is None:
            return list(map(int, np.flatnonzero(listed & (draw < self.ratio))))
        number = min(max(int(self.ratio * len(words)), 1), self.max_words) if self.ratio else 0
        places = np.flatnonzero(listed)
        return list(map(int, places[draw[places].argsort()][:number]))


def _cased_like(word: str, chosen: str) -> str:
    return chosen[:1].upper() + chosen[1:] if word[:1].isupper() else chosen


def read_synonyms(path: Path) -> dict[str, tuple[str, ...]]:
    """Case-folded word -> its synonyms, in the order of the file."""
    lines = _lines(path)
    directed = bool(lines) and [cell.casefold() for cell in lines[0]] == HEADER
    synonyms: dict[str, dict[str, None]] = {}
    for number, cells in enumerate(lines[1:] if directed else lines, start=2 if directed else 1):
        if directed and len(cells) != len(HEADER):
            raise DataError(f"synonyms '{path}', row {number}: expected a word and a synonym, found {_cells(cells)}")
        for word in cells[:1] if directed else cells:
            others = [cell for cell in cells if cell.casefold() != word.casefold()]
            if others:
                synonyms.setdefault(word.casefold(), {}).update(dict.fromkeys(others))
    if not synonyms:
        raise DataError(f"synonyms '{path}': the file has no synonyms, because no line has two words; {FORMAT}")
    return {word: tuple(others) for word, others in synonyms.items()}


def _cells(cells: list[str]) -> str:
    return f"{len(cells)} cell{'s' * (len(cells) != 1)}"


def _lines(path: Path) -> list[list[str]]:
    """The cells of each line, without empty cells and empty lines."""
    separator = "\t" if {".tsv", ".tab"} & set(path.suffixes) else ","
    with readable(path):
        refuse_other_content(path)
        with open_bytes(path) as file:
            try:
                text = file.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                raise DataError(f"synonyms '{path}': the file is not UTF-8; save it as UTF-8") from None
    try:
        read = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error as error:
        raise DataError(f"synonyms '{path}': the file cannot be read ({error})") from None
    cells = [[cell.strip() for cell in line if cell.strip()] for line in read]
    return [line for line in cells if line]
