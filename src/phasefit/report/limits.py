"""Limits on what is shown, so that pages, pictures and tables stay readable for any data."""

from __future__ import annotations

from dataclasses import dataclass

MOST_LISTED = 60  # classes in a picture or a table; beyond it, only the weakest or the largest are listed
MOST_IN_MATRIX = 30  # most classes for which a confusion matrix shows counts
COLOURS, SHAPES = 12, 5  # of groups of points
MOST_COLOURED = COLOURS * SHAPES


@dataclass(frozen=True)
class Limits:
    """The limits of a page."""

    rows: int = 50  # mistakes, labels to check, confused pairs
    text: int = 300  # characters of their texts
    points: int = 500  # of the map
    hover: int = 160  # characters of a point's text
    classes: int = 1000  # of the table of classes
    steps: int = 400  # of a curve

    def smaller(self) -> Limits:
        """Return limits about half as large, with a minimum for each."""
        return Limits(
            rows=max(self.rows // 2, 5),
            text=max(self.text * 2 // 3, 60),
            points=max(self.points * 2 // 3, 50),
            hover=max(self.hover // 2, 30),
            classes=max(self.classes // 2, 50),
            steps=max(self.steps // 2, 50),
        )
