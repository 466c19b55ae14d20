"""What a recipe may say about a mirror phase."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from phasefit.phases.side_by_side.options import SideBySideOptions, ViewSettings


class Options(SideBySideOptions, ViewSettings):
    """Options of `kind = "mirror"`."""

    implementation = "phasefit.phases.mirror.phase:Mirror"
    kind: Literal["mirror"] = "mirror"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "nt-xent", "temperature": 0.04},
        description='a name, or { name = "nt-xent", temperature = 0.04, pull = false } for negatives alone',
    )
    span: int = Field(5, ge=0, description="characters of the one span that is masked in the second view; 0: none")
    min_characters: int = Field(30, ge=0, description="texts with fewer characters are not masked")
    drop_head: float = Field(
        0.0, ge=0, lt=1, description="probability that an attention head is dropped, instead of dropout: that is then 0"
    )
    random_strings: bool = Field(
        False, description="train on random letters in the place of every word, as a probe of what texts are needed for"
    )

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Labels are never looked at."""
        return "texts"
