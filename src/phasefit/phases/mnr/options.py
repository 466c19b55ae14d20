"""What a recipe may say about an mnr phase."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from phasefit.phases.side_by_side.options import SideBySideOptions


class Options(SideBySideOptions):
    """Options of `kind = "mnr"`."""

    implementation = "phasefit.phases.mnr.phase:MNR"
    kind: Literal["mnr"] = "mnr"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "multiple-negatives", "temperature": 0.05},
        description='a name, or { name = "multiple-negatives", temperature = 0.05, directions = "both" }',
    )
    hard_negatives: bool = Field(True, description="use the third text of a row where there is one")

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Two texts in a row, or three."""
        return "pairs"
