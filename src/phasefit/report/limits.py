"""How much is shown, so that pages, pictures and tables stay readable whatever the data are."""

from __future__ import annotations

from dataclasses import dataclass

MOST_LISTED = 60  # classes that a picture or a table lists; of more, the weakest or the largest
MOST_IN_MATRIX = 30  # classes up to which a confusion matrix has its counts
COLOURS, SHAPES = 12, 5  # that groups of points are told apart by
MOST_COLOURED = COLOURS * SHAPES


@dataclass(frozen=True)
class Limits:
    """How much a page shows."""

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
