"""What the geometry of an embedding space should come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phasefit.metrics.geometry import has_classes


def geometry_reading(stages: Mapping[str, Mapping[str, Any]]) -> str:
    """Which way the figures that were measured should go."""
    measured = {name for figures in stages.values() for name, value in figures.items() if value is not None}
    if not has_classes(stages.values()):
        pairs = "bring the two texts of a pair together (alignment falls) and " if "alignment" in measured else ""
        return f"Training should {pairs}spread texts over the whole space (uniformity and anisotropy fall)."
    if "within" not in measured:
        return "No class has two of these texts; those of different classes should come apart (their cosine falls)."
    signs = "alignment falls, silhouette rises" if "silhouette" in measured else "alignment falls"
    return (
        f"Training should bring texts of one class together ({signs}) without all texts coming to point one way "
        "(anisotropy near 1). Uniformity may rise in a classifier, whose texts gather in as many places as classes."
    )
