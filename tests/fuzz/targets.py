"""All targets by name."""

from __future__ import annotations

from pathlib import Path

from fuzz.documents import Decisions, Labels, Recipes, Studies, TaskFiles
from fuzz.harness import Target
from fuzz.models import Checkpoints, Models
from fuzz.tables import Tables

TARGETS: dict[str, type[Target]] = {
    one.name: one for one in (Tables, Labels, Decisions, Recipes, TaskFiles, Studies, Models, Checkpoints)
}


def make(name: str, place: Path) -> Target:
    """A target that works in `place`."""
    return TARGETS[name](place)
