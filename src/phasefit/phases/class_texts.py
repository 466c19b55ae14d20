"""Class names, or class descriptions from a file, as additional training texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from phasefit.data.checks import Place
from phasefit.data.columns import find_columns
from phasefit.data.io.frames import read_file
from phasefit.data.labels import LabelSpace
from phasefit.data.table import Label, Table
from phasefit.data.table_reading import Options as TableOptions
from phasefit.data.table_reading import table_from_frame
from phasefit.errors import DataError, LabelError, RecipeError

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder

NONE, NAMES = "none", "names"
MOST_NAMED = 8  # columns that an error lists

_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # camelCase, HTTPServer
_JOINT = re.compile(r"(?<=[^\W_])[-./:#+&|]+(?=[^\W\d_])|(?<=[^\W\d_])[-./:#+&|]+(?=[^\W_])|[\s_]+")  # not 3.5, not C++


@dataclass(frozen=True)
class ClassTexts:
    """Texts with their class codes, and the names of the classes without a text."""

    texts: Sequence[str]
    codes: np.ndarray
    without: Sequence[str]

    def vectors(self, encoder: Encoder, classes: int) -> np.ndarray:
        """One vector of length 1 per class: the mean of its texts; of all texts for a class without one."""
        from torch.nn.functional import normalize

        from phasefit.models.encoder.inference import encode_rows

        own = normalize(encode_rows(encoder, encoder.tokenise(self.texts)), dim=1).cpu().double().numpy()
        sums = np.tile(own.sum(axis=0), (classes, 1))
        sums[self.codes] = 0.0
        np.add.at(sums, self.codes, own)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.maximum(lengths, np.finfo(np.float64).tiny))

    def notes(self, where: str, *, compared: bool = False) -> list[str]:
        """How many texts were added, or are compared with the training rows, and which classes have none."""
        use = "compared with the training rows" if compared else "added to the training rows"
        notes = [f"{where}: {len(self.texts):,} class text{'s' * (len(self.texts) > 1)} {use}"]
        if self.without:
            shown = ", ".join(f"'{name}'" for name in self.without[:5]) + (" ..." if len(self.without) > 5 else "")
            notes.append(
                f"{where}: {len(self.without):,} class{'es' * (len(self.without) > 1)} without a class text: {shown}"
            )
        first: dict[str, int] = {}
        for text, code in zip(self.texts, self.codes.tolist(), strict=True):
            if first.setdefault(text, code) != code:
                notes.append(f"{where}: two classes have the class text '{text}', which cannot tell them apart")
                break
        return notes


def readable(label: Label) -> str:
    """A class name as words: "flight time" for flight_time, FlightTime and ("flight", "time"); "" for numbers."""
    name = " ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    words = _JOINT.sub(" ", _WORD_BORDER.sub(" ", name)).split()
    return " ".join(words) if any(letter.isalpha() for word in words for letter in word) else ""


def read_class_texts(given: str, where: str) -> Table | None:
    """Read the file of class texts; None if the option does not name a file."""
    if given in (NONE, NAMES):
        return None
    path = Path(given)
    if not path.exists():
        raise RecipeError(
            f"{where}: class_texts: there is no file {given!r}; use 'none', 'names' or a table with the columns "
            "label and text"
        )
    content = read_file(path)
    frame = content.frame
    names = [str(column) for column in frame.columns]
    try:
        find_columns(names, text=None, label=(), need_labels=True, where=path.name)
    except DataError:
        columns = ", ".join(f"'{name}'" for name in names[:MOST_NAMED])
        raise RecipeError(
            f"{where}: class_texts {given!r} needs the columns label and text; it has {columns}"
        ) from None
    return table_from_frame(frame, path.name, TableOptions(), Place(path.name, content))


def class_texts(given: str, space: LabelSpace, present: np.ndarray, where: str) -> ClassTexts:
    """The texts of the classes whose codes are `present` in the training rows; others are dropped."""
    if not len(space):
        raise RecipeError(f"{where}: class_texts {given!r}: the labels are scores, not classes; remove class_texts")
    table = read_class_texts(given, where)
    if table is None:
        texts = [readable(label) for label in space.classes]
        codes = np.arange(len(space))
    else:
        assert table.labels is not None  # the reader requires them
        try:
            texts, codes = list(table.texts), space.encode(table.labels, where=table.name)
        except LabelError as error:
            raise RecipeError(f"{where}: class_texts: {error}; correct the label, or remove the row") from None
    kept = np.flatnonzero(np.isin(codes, present) & np.array([bool(text) for text in texts]))
    if not len(kept):
        why = (
            "no class name has words" if table is None else f"{table.name} has no text for a class of the training rows"
        )
        raise RecipeError(f"{where}: class_texts {given!r}: {why}; give a file with the columns label and text")
    without = [space.names[code] for code in np.setdiff1d(present, codes[kept])]
    return ClassTexts([texts[place] for place in kept], codes[kept], without)


def check_class_texts(given: str, space: LabelSpace, where: str) -> None:
    """Raise if there are class texts that do not fit the classes."""
    if given != NONE:
        class_texts(given, space, np.arange(len(space)), where)
