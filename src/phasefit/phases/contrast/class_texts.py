"""What classes are called, or how a file describes them, as texts of those classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phasefit.data.checks import Place
from phasefit.data.columns import find_columns
from phasefit.data.io.frames import read_frame
from phasefit.data.labels import LabelSpace
from phasefit.data.table import Label, Table
from phasefit.data.table_reading import Options as TableOptions
from phasefit.data.table_reading import table_from_frame
from phasefit.errors import DataError, RecipeError

NONE, NAMES = "none", "names"
MOST_NAMED = 8  # columns that an error names

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # camelCase, HTTPServer
_JOINT = re.compile(r"(?<=[^\W_])[-./:#+&|]+(?=[^\W\d_])|(?<=[^\W\d_])[-./:#+&|]+(?=[^\W_])|[\s_]+")  # not 3.5, not C++


@dataclass(frozen=True)
class ClassTexts:
    """Texts with the codes of their classes, and the classes that go without."""

    texts: Sequence[str]
    codes: np.ndarray
    without: Sequence[str]

    def notes(self, where: str) -> list[str]:
        """What was added, and to which classes nothing was."""
        notes = [f"{where}: {len(self.texts):,} class text{'s' * (len(self.texts) > 1)} beside the training rows"]
        if self.without:
            shown = ", ".join(f"'{name}'" for name in self.without[:5]) + (" ..." if len(self.without) > 5 else "")
            notes.append(f"{where}: no class text for {len(self.without):,} of the classes: {shown}")
        return notes


def readable(label: Label) -> str:
    """A class name as words: flight_time, FlightTime and ("flight", "time") are "flight time"; numbers are none."""
    name = " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    words = _JOINT.sub(" ", _WORD_BORDER.sub(" ", name)).split()
    return " ".join(words) if any(letter.isalpha() for word in words for letter in word) else ""


def read_class_texts(given: str, where: str) -> Table | None:
    """The file of class texts, read; None where none is asked for."""
    if given in (NONE, NAMES):
        return None
    path = Path(given)
    if not path.exists():
        raise RecipeError(
            f"{where}: there is no file {given!r}; class_texts is 'none', 'names' or a table with the columns label "
            "and text"
        )
    frame = read_frame(path)
    names = [str(column) for column in frame.columns]
    try:
        find_columns(names, text=None, label=(), need_labels=True, where=path.name)
    except DataError:
        columns = ", ".join(f"'{name}'" for name in names[:MOST_NAMED])
        raise RecipeError(
            f"{where}: class_texts {given!r} needs the columns label and text; it has {columns}"
        ) from None
    return table_from_frame(frame, path.name, TableOptions(), Place(path.name, path))


def class_texts(given: str, space: LabelSpace, present: np.ndarray, where: str) -> ClassTexts:
    """The texts of the classes whose codes are `present` in the training rows; a text says nothing of the others."""
    if not len(space):
        raise RecipeError(f"{where}: class_texts {given!r}: scores have no classes that a text could stand for")
    table = read_class_texts(given, where)
    if table is None:
        texts = [readable(label) for label in space.classes]
        codes = np.arange(len(space))
    else:
        assert table.labels is not None  # the reader asks for them
        texts, codes = list(table.texts), space.encode(table.labels, where=table.name)
    kept = np.flatnonzero(np.isin(codes, present) & np.array([bool(text) for text in texts]))
    if not len(kept):
        why = "the class names are numbers" if table is None else f"{table.name} has no text of a class that is trained"
        raise RecipeError(f"{where}: class_texts {given!r}: {why}; give a file with the columns label and text")
    without = [space.names[code] for code in np.setdiff1d(present, codes[kept])]
    return ClassTexts([texts[place] for place in kept], codes[kept], without)
