"""A finished run: all that its card, its page and its pictures are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from phasefit.kinds import kind_named
from phasefit.prepare.prepare import Prepared
from phasefit.report.facts.held_out import SPLITS, Outputs
from phasefit.report.facts.layout import Floats, stage_layouts
from phasefit.report.facts.map import EmbeddingMap, embedding_map, map_points

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation
    from phasefit.runs.fitting.snapshots import Snapshots
    from phasefit.runs.results import FinishedRun

ENCODER = "A sentence encoder, trained in phases with phasefit: it turns texts into vectors and has no classifier."
SHOWN_ELSEWHERE = ("format", "status", "data", "heads", "decisions", "settings")  # of the manifest


@dataclass(frozen=True)
class RunFacts:
    """A finished run; without `outputs`, what the model said of each row, nothing is said of single rows."""

    name: str
    recipe: str  # as TOML
    prepared: Prepared
    metrics: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    manifest: Mapping[str, Any]
    kind: str = "single"  # of the labels; "none" where nothing is predicted, "tasks" of several
    cut: Truncation | None = None
    snapshots: Snapshots | None = None
    layouts: Mapping[str, Floats] = field(default_factory=dict)  # of the snapshots, by stage
    outputs: Outputs = field(default_factory=dict)
    pairs: bool = False  # whether labels are of pairs of texts

    @classmethod
    def of(cls, run: FinishedRun) -> RunFacts:
        """What a run that was just trained leaves behind."""
        fitted, prepared = run.result.fitted, run.prepared
        heads = run.manifest.get("heads")
        return cls(
            run.folder.name,
            run.recipe.to_toml(),
            prepared,
            run.result.metrics,
            fitted.history.rows,
            {name: value for name, value in run.manifest.items() if name not in SHOWN_ELSEWHERE},
            "none" if heads == {} else "tasks" if prepared.tasks else prepared.space.kind,
            fitted.cut,
            fitted.snapshots,
            {} if fitted.snapshots is None else stage_layouts(fitted.snapshots.vectors),
            run.result.outputs,
            "pair" in next(iter((heads or {}).values()), {}),
        )

    @property
    def scored(self) -> dict[str, Mapping[str, Any]]:
        """The metrics of the splits that were scored; the last one is what counts."""
        return {split: self.metrics[split] for split in SPLITS if self.metrics.get(split)}

    @cached_property
    def map(self) -> EmbeddingMap | None:
        """The embedding map, where any texts were looked at."""
        if self.snapshots is None or not self.layouts:
            return None
        return embedding_map(self.snapshots.vectors, map_points(self.prepared, self.snapshots), self.layouts)


def headline(kind: str, classes: int, pairs: bool) -> str:
    """What a model is, in a sentence."""
    if kind == "none":
        return ENCODER
    several = kind == "tasks"
    what = "model of several tasks over one encoder" if several else kind_named(kind).model_noun(classes, pairs)
    return f"A {what}, trained in phases with phasefit."
