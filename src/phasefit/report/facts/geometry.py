"""How to read the geometry of an embedding space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phasefit.metrics.geometry import has_classes


def geometry_reading(stages: Mapping[str, Mapping[str, Any]]) -> str:
    """Explain in which direction the measured values should change."""
    measured = {name for figures in stages.values() for name, value in figures.items() if value is not None}
    if not has_classes(stages.values()):
        pairs = "move the two texts of a pair closer together (alignment falls) and " if "alignment" in measured else ""
        return f"Training should {pairs}spread texts over the whole space (uniformity and anisotropy fall)."
    if "within" not in measured:
        return "No class has two of these texts; texts of different classes should move apart (their cosine falls)."
    signs = "alignment falls, silhouette rises" if "silhouette" in measured else "alignment falls"
    return (
        f"Training should move texts of a class closer together ({signs}) without making all texts similar "
        "(anisotropy near 1). Uniformity may rise in a classifier, whose texts form one cluster per class."
    )
