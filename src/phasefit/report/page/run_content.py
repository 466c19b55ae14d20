"""What the page of a run is made from, and how much of it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phasefit.prepare.prepare import Prepared
from phasefit.report.held_out import Outputs
from phasefit.report.pictures.layout import Floats

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation
    from phasefit.runs.fitting.snapshots import Snapshots


@dataclass(frozen=True)
class RunContent:
    """A finished run: all that its report is written from."""

    name: str
    recipe: str  # as TOML
    prepared: Prepared
    metrics: Mapping[str, Any]
    history: list[dict[str, Any]]
    manifest: Mapping[str, Any]
    kind: str = ""  # of the labels; "none" where nothing is predicted, "tasks" of several
    cut: Truncation | None = None
    snapshots: Snapshots | None = None
    layouts: Mapping[str, Floats] = field(default_factory=dict)  # of the snapshots, by stage
    outputs: Outputs = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """How much a page shows, so that it stays small whatever the data are."""

    rows: int = 50  # mistakes, doubted labels, confused pairs
    text: int = 300  # characters of their texts
    points: int = 500  # of the map
    hover: int = 160  # characters of a point's text
    classes: int = 1000  # of the table of classes
    steps: int = 400  # of a curve

    def smaller(self) -> Limits:
        """About half as much, but never nothing."""
        return Limits(
            rows=max(self.rows // 2, 5),
            text=max(self.text * 2 // 3, 60),
            points=max(self.points * 2 // 3, 50),
            hover=max(self.hover // 2, 30),
            classes=max(self.classes // 2, 50),
            steps=max(self.steps // 2, 50),
        )
