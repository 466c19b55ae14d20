"""The embedding map: the same texts at each stage of training, coloured by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared
from phasefit.report.facts.layout import Floats, agreement, method, stage_layouts
from phasefit.report.limits import MOST_COLOURED

if TYPE_CHECKING:
    from phasefit.runs.fitting.snapshots import Snapshots

Ints = NDArray[np.integer[Any]]
FIRST = ", each at the position of its first text"
PLURALS = {"class": "classes", "range of scores": "ranges"}


@dataclass(frozen=True)
class MapPoints:
    """The points of a map in the order of its snapshots; `codes` are indices of `names`, all -1 without names."""

    names: Sequence[str]
    codes: Ints
    group: str = "class"  # what a name stands for
    what: str = "texts"  # what a point is
    caption: str = "texts"
    texts: Sequence[tuple[str, ...]] = ()  # of each point; both texts of a pair


@dataclass(frozen=True)
class MapStage:
    """The positions at one stage; `share` is the share of texts whose nearest text is in the same group."""

    name: str
    layout: Floats
    share: float | None
    unchanged: bool  # since the stage before


@dataclass(frozen=True)
class EmbeddingMap:
    """The points and their positions at each stage."""

    points: MapPoints
    stages: Sequence[MapStage]

    @property
    def how_laid_out(self) -> str:
        """How to read the map."""
        points = self.points
        return (
            f"{len(points.codes):,} {points.caption} ({method(len(points.codes))}): nearby points are similar, the "
            "axes have no meaning"
        )


@dataclass(frozen=True)
class Groups:
    """The codes of the largest groups, each with its own colour, and the number of other groups."""

    coloured: Ints
    others: int


def embedding_map(
    vectors: Mapping[str, Floats], points: MapPoints, layouts: Mapping[str, Floats] | None = None
) -> EmbeddingMap:
    """Return the map for the vectors (n, d) of each stage; `layouts` avoids computing `stage_layouts` again."""
    layouts = stage_layouts(vectors) if layouts is None else layouts
    labelled = bool((points.codes >= 0).any())
    stages: list[MapStage] = []
    for name, layout in layouts.items():
        share = agreement(vectors[name], points.codes) if labelled else None
        stages.append(MapStage(name, layout, share, bool(stages) and stages[-1].layout is layout))
    return EmbeddingMap(points, stages)


def largest_groups(codes: Ints, most: int = MOST_COLOURED) -> Groups:
    """Return the largest groups that have points; groups of equal size keep their order."""
    sizes = np.bincount(codes)
    present = np.flatnonzero(sizes)
    coloured = np.sort(present[np.argsort(-sizes[present], kind="stable")][:most])
    return Groups(coloured, len(present) - len(coloured))


def map_points(prepared: Prepared, taken: Snapshots) -> MapPoints:
    """Return the points grouped by class, level, range of scores or task; a pair is placed by its first text."""
    from phasefit.runs.fitting.index_rows import row_texts, task_numbers  # imports torch

    texts = tuple(row_texts(prepared, taken.rows))
    pairs = any(len(own) > 1 for own in texts)
    what, caption = ("pairs", taken.named("pairs") + FIRST) if pairs else ("texts", taken.texts)
    if prepared.tasks:
        codes = task_numbers(prepared)[taken.rows]
        names = list(prepared.tasks) if (codes >= 0).all() else []  # texts of a phase before the tasks have no task
        return MapPoints(names, codes if names else np.full_like(codes, -1), "task", what, caption, texts)
    names = prepared.space.groups if (taken.codes >= 0).any() else []
    group = kind_of(prepared.space).group_noun(prepared.space) if names else "class"
    return MapPoints(names, taken.codes, group, what, caption, texts)
