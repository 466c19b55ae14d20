"""The embedding map: where the same texts lie at each stage of training, and the groups that they are coloured by."""

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
FIRST = ", each where its first text lies"
PLURALS = {"class": "classes", "range of scores": "ranges"}


@dataclass(frozen=True)
class MapPoints:
    """The points of a map in the order of its snapshots; `codes` index `names` and are all -1 where there are none."""

    names: Sequence[str]
    codes: Ints
    group: str = "class"  # what one of the names is of
    what: str = "texts"  # what a point is
    caption: str = "texts"
    texts: Sequence[tuple[str, ...]] = ()  # of each point; of a pair both


@dataclass(frozen=True)
class MapStage:
    """Where the points lie at one stage; `share` of the texts have their nearest text in their own group."""

    name: str
    layout: Floats
    share: float | None
    unchanged: bool  # since the stage before


@dataclass(frozen=True)
class EmbeddingMap:
    """The points and their places at each stage."""

    points: MapPoints
    stages: Sequence[MapStage]

    @property
    def how_laid_out(self) -> str:
        """What a reader has to know of the axes."""
        points = self.points
        return (
            f"{len(points.codes):,} {points.caption}, laid out by {method(len(points.codes))}: near is alike, the axes "
            "mean nothing"
        )


@dataclass(frozen=True)
class Groups:
    """The largest groups by number, which have colours of their own; `others` are too many for one."""

    coloured: Ints
    others: int


def embedding_map(
    vectors: Mapping[str, Floats], points: MapPoints, layouts: Mapping[str, Floats] | None = None
) -> EmbeddingMap:
    """Vectors (n, d) of each stage by name, in order; `layouts` are those of `stage_layouts`, where they are known."""
    placed = stage_layouts(vectors) if layouts is None else layouts
    labelled = bool((points.codes >= 0).any())
    stages: list[MapStage] = []
    for name, layout in placed.items():
        share = agreement(vectors[name], points.codes) if labelled else None
        stages.append(MapStage(name, layout, share, bool(stages) and stages[-1].layout is layout))
    return EmbeddingMap(points, stages)


def largest_groups(codes: Ints, most: int = MOST_COLOURED) -> Groups:
    """Of the groups that have points; equally large ones in their own order."""
    sizes = np.bincount(codes)
    present = np.flatnonzero(sizes)
    coloured = np.sort(present[np.argsort(-sizes[present], kind="stable")][:most])
    return Groups(coloured, len(present) - len(coloured))


def map_points(prepared: Prepared, taken: Snapshots) -> MapPoints:
    """Texts by class, level or range of scores, or by task; a pair stands where its first text does."""
    from phasefit.runs.fitting.index_rows import row_texts, task_numbers  # which need torch

    texts = tuple(row_texts(prepared, taken.rows))
    pairs = any(len(own) > 1 for own in texts)
    what, caption = ("pairs", taken.named("pairs") + FIRST) if pairs else ("texts", taken.texts)
    if prepared.tasks:
        codes = task_numbers(prepared)[taken.rows]
        names = list(prepared.tasks) if (codes >= 0).all() else []  # the map may be of what comes before the tasks
        return MapPoints(names, codes if names else np.full_like(codes, -1), "task", what, caption, texts)
    names = prepared.space.groups if (taken.codes >= 0).any() else []
    group = kind_of(prepared.space).group_noun(prepared.space) if names else "class"
    return MapPoints(names, taken.codes, group, what, caption, texts)
