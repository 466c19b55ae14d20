"""Options that can only give NaN are refused when an objective is made, not when it is first used."""

from __future__ import annotations

import math


def must_be_positive(**options: float) -> None:
    """Temperatures, scales and the like."""
    for name, value in options.items():
        if not 0 < value < math.inf:
            raise ValueError(f"the {name} must be greater than 0")


def must_not_be_negative(**options: float) -> None:
    """Margins and weights."""
    for name, value in options.items():
        if not 0 <= value < math.inf:
            raise ValueError(f"the {name} must be 0 or greater")


def must_be_share(**options: float) -> None:
    """What counts for so much of a whole."""
    for name, value in options.items():
        if not 0 <= value <= 1:
            raise ValueError(f"the {name} must lie between 0 and 1")
