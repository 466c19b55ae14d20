"""What a recipe may say about a simcse phase."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.side_by_side.options import SideBySideOptions, ViewSettings


class Options(SideBySideOptions, ViewSettings):
    """Options of `kind = "simcse"`."""

    implementation = "phasefit.phases.simcse.phase:SimCSE"
    parts = ("encoder", "dense", "projection")
    kind: Literal["simcse"] = "simcse"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "info-nce", "temperature": 0.05},
        description='a name, or { name = "info-nce", temperature = 0.05 }',
    )
    supervised: bool = Field(
        False, description="learn from a table of pairs, or of triples with a hard negative, instead of texts alone"
    )
    hard_negatives: bool = Field(True, description="use the third text of a row where there is one (supervised)")
    projection: bool | None = Field(
        None,
        description="a layer with Tanh behind the vectors, dropped at the end; left out: yes unless supervised",
    )

    @model_validator(mode="after")
    def _views_of_one_text(self) -> Self:
        if self.supervised and self.views:
            raise ValueError("supervised = true takes the second text from the table; leave 'views' out")
        return self

    @property
    def projects(self) -> bool:
        """Whether there is a projection."""
        return not self.supervised if self.projection is None else self.projection

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Labels are never looked at."""
        return "pairs" if self.supervised else "texts"
