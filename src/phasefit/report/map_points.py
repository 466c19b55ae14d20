"""What the points of an embedding map are: their texts, and the groups that they are coloured by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.data.labels import ScoreLabels
from phasefit.prepare.prepare import Prepared
from phasefit.runs.fitting.snapshots import Snapshots

FIRST = ", each where its first text lies"


@dataclass(frozen=True)
class MapPoints:
    """The points of a map in the order of its snapshots; `codes` index `names` and are all -1 where there are none."""

    names: list[str]
    codes: np.ndarray
    group: str = "class"  # what one of the names is of
    what: str = "texts"  # what a point is
    caption: str = "texts"
    texts: tuple[tuple[str, ...], ...] = ()  # of each point; of a pair both


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
    return MapPoints(names, taken.codes, _group(prepared), what, caption, texts)


def _group(prepared: Prepared) -> str:
    if not isinstance(prepared.space, ScoreLabels):
        return "class"
    return "level" if prepared.space.levels else "range of scores"
