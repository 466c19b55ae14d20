"""The view `adversarial`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from phasefit.models.views.contract import View


@dataclass(frozen=True)
class Adversarial(View):
    """The same text, its input embeddings shifted so that its vector changes most (Miyato et al., ICLR 2017).

    Both sizes are relative to the norm of the text's embeddings: `epsilon` is that of the shift, `xi` that of the step
    that estimates its direction.
    """

    epsilon: Annotated[float, Field(gt=0)] = 0.1
    xi: Annotated[float, Field(gt=0)] = 0.01

    name: ClassVar[str] = "adversarial"
    changes_text: ClassVar[bool] = False
