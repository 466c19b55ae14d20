"""Question: what a request asks the models for, independent of its wire format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from phasefit.serve.batcher import Result
from phasefit.serve.loading import Target
from phasefit.serve.refusals import Refusal, invalid


@dataclass(frozen=True)
class Question:
    """Texts for a model, and how the result is written."""

    target: Target
    texts: list[Any]
    field: str  # the field of the body that holds the texts
    answer: Callable[[Result], Any]  # the content of the response
    refuse_cut: bool = False  # whether texts that are too long for the model are refused

    def check_result(self, result: Result) -> None:
        """Refuse texts that were cut, if the request asks for it."""
        if not self.refuse_cut:
            return
        if result.cut is None:
            raise invalid("truncate", f"false is not supported by model '{self.target.name}', which cuts long texts")
        if result.cut.any():
            longest = self.target.model.engine.longest
            raise Refusal(
                413,
                f"{self.field}[{int(result.cut.argmax())}]: is longer than the {longest} tokens that model "
                f"'{self.target.name}' reads; shorten it, or set truncate to true",
                field=self.field,
            )
