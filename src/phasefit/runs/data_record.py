"""`data.json`: the data check of a run and, once its texts are tokenised, how many were truncated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.data.hygiene import Hygiene
from phasefit.files.atomic import write_json

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation

DATA = "data.json"


def write_hygiene(folder: Path, found: Hygiene, cut: Truncation | None = None) -> None:
    """Write `data.json`: what the tables are like and, once the texts are tokenised, what is cut off."""
    write_json(folder / DATA, found.to_json() | ({} if cut is None else {"tokens": cut.to_json()}))
