"""The view `dropout`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from phasefit.models.views.contract import View


@dataclass(frozen=True)
class Dropout(View):
    """The same text; only the encoder's dropout differs between views (Gao et al., SimCSE, EMNLP 2021)."""

    name: ClassVar[str] = "dropout"
    changes_text: ClassVar[bool] = False
