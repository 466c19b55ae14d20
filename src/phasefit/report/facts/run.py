"""A finished run: the source of its card, page and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from phasefit.kinds import kind_named
from phasefit.models.predictor import TASK
from phasefit.models.tfidf.storage import is_tfidf
from phasefit.prepare.prepare import Prepared
from phasefit.report.facts.held_out import SPLITS, HeldOut, Outputs, held_out
from phasefit.report.facts.layout import Floats, stage_layouts
from phasefit.report.facts.map import EmbeddingMap, embedding_map, map_points

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation
    from phasefit.report.facts.words import MistakeWords
    from phasefit.runs.fitting.snapshots import Snapshots
    from phasefit.runs.results import FinishedRun

ENCODER = "A sentence encoder trained in phases with phasefit. It turns texts into vectors and has no classifier."
SHOWN_ELSEWHERE = ("format", "status", "data", "heads", "decisions", "settings", "files")  # of the manifest


@dataclass(frozen=True)
class RunFacts:
    """A finished run; without `outputs` (the outputs of the model for each row), no rows are listed."""

    name: str
    recipe: str  # as TOML
    prepared: Prepared
    metrics: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    manifest: Mapping[str, Any]
    kind: str = "single"  # of the labels; "none" for an encoder, "tasks" for several tasks
    cut: Truncation | None = None
    snapshots: Snapshots | None = None
    layouts: Mapping[str, Floats] = field(default_factory=dict)  # of the snapshots, by stage
    outputs: Outputs = field(default_factory=dict)
    pairs: bool = False  # whether each label belongs to a pair of texts
    encoder: bool = True  # whether the model has an encoder
    words: Mapping[str, MistakeWords] = field(default_factory=dict)  # that led to mistakes, by task

    @classmethod
    def of(cls, run: FinishedRun) -> RunFacts:
        """Collect the facts of a run that has just been trained."""
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
            not is_tfidf(run.manifest),
        )

    def held_out(self, task: str) -> list[HeldOut]:
        """The scored rows of one task with the outputs of the model."""
        prepared = self.prepared.tasks.get(task, self.prepared)
        decisions = self.metrics.get("decisions", {TASK: self.metrics.get("decision")})
        return held_out(prepared, decisions.get(task) or {}, self.outputs, task)

    @property
    def scored(self) -> dict[str, Mapping[str, Any]]:
        """The metrics of the scored splits; the last one is the result."""
        return {split: self.metrics[split] for split in SPLITS if self.metrics.get(split)}

    @cached_property
    def map(self) -> EmbeddingMap | None:
        """The embedding map; None without snapshots."""
        if self.snapshots is None or not self.layouts:
            return None
        return embedding_map(self.snapshots.vectors, map_points(self.prepared, self.snapshots), self.layouts)


def headline(kind: str, classes: int, pairs: bool, *, phased: bool = True) -> str:
    """Describe a model in one sentence."""
    if kind == "none":
        return ENCODER
    several = kind == "tasks"
    what = "multi-task model with one shared encoder" if several else kind_named(kind).model_noun(classes, pairs)
    return f"A {what}, trained in phases with phasefit." if phased else f"A linear {what}, fitted with phasefit."
