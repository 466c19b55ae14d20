"""What `facts.json` of a checkpoint contains, checked before a run resumes from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from phasefit.files.checked import Count, Document, Finite, Number, Whole, checked
from phasefit.kinds.decision import SavedDecision
from phasefit.recipes.recipe import Recipe
from phasefit.runs.fitting.checkpointer import SNAPSHOT
from phasefit.training.checkpoints import Checkpoint

Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Scores = dict[str, Number | None]


class CandidateFacts(Document):
    """`training.best.Candidate`."""

    step: Count
    scores: Scores


class BestFacts(CandidateFacts):
    """`training.best.Best`."""

    peak: Number | None
    previous: Number | None
    misses: Count
    second: CandidateFacts | None = None


class StateFacts(Document):
    """`training.state.PhaseState`."""

    step: Count
    seconds: Finite
    stopped: bool
    averaged: Count = 0
    best: BestFacts
    scaler: dict[str, Any] | None


class SnapshotFacts(Document):
    """`runs.fitting.snapshots.Snapshots`."""

    split: Literal["validation", "train", "unlabelled"]
    rows: list[Count]
    codes: list[Whole]
    others: list[Whole]
    stages: list[str]


class AverageFacts(Document):
    """Whether the average of the last steps was used."""

    used: bool


class BlendFacts(Document):
    """The share of the trained weights in the encoder."""

    share: Annotated[float, Field(strict=True, ge=0, le=1)]


class PhaseFacts(Document):
    """The record of a finished phase."""

    name: str
    steps: Count
    planned_steps: Count
    seconds: Finite
    best_step: Count
    watch: str | None
    best: Scores | None
    stopped_early: bool
    average: AverageFacts | None = None
    blend: BlendFacts | None = None
    ridge: Positive | None = None


class HistoryRow(Document):
    """A step or an evaluation."""

    phase: str
    step: Count
    loss: Number | None = None
    lr: Number | None = None
    scalars: Scores | None = None
    scores: Scores | None = None
    watch: str | None = None
    improved: bool | None = None


class LengthFacts(Document):
    """`data.hygiene.Lengths`."""

    least: Count
    median: Finite
    mean: Finite
    p95: Count
    most: Count
    histogram: list[Annotated[list[Count], Field(min_length=3, max_length=3)]]


class CutFacts(Document):
    """`models.tokens.truncation.Truncation`."""

    limit: Count
    texts: Count
    cut: Count
    tokens: Count
    lost: Count
    lengths: LengthFacts


class FittedFacts(Document):
    """`runs.fitting.fit.Fitted`."""

    phases: list[PhaseFacts]
    history: list[HistoryRow]
    cut: CutFacts | None


class SavedMetrics(Document):
    """The metrics of a fit whose model is being fitted again on all rows."""

    decision: SavedDecision | None = None
    decisions: dict[str, SavedDecision] | None = None


class FirstFacts(FittedFacts):
    """A fit with its metrics."""

    metrics: SavedMetrics


class CheckpointFacts(FittedFacts):
    """All facts of a checkpoint."""

    index: Count
    state: StateFacts | None
    snapshots: SnapshotFacts | None
    threads: Annotated[int, Field(ge=1, le=1024)]
    began_with: Count
    first: FirstFacts | None = None


def check_checkpoint(recipe: Recipe, checkpoint: Checkpoint) -> None:
    """Raise ValueError if a run with this recipe cannot resume from a checkpoint."""
    facts: CheckpointFacts = checked(CheckpointFacts, checkpoint.facts)
    if facts.index >= len(recipe.phases):
        raise ValueError(f"index: the recipe has no phase number {facts.index + 1}")
    if "first" in checkpoint.facts and facts.first is None:
        raise ValueError("first: should be a table")
    names = [record.name for record in facts.phases]
    finished = recipe.phase_names[: facts.index + (facts.state is None)]
    if names != finished:
        raise ValueError(f"phases: {len(names)} are recorded, but {len(finished)} should be finished")
    if facts.first is not None and [record.name for record in facts.first.phases] != recipe.phase_names:
        raise ValueError("first: the recorded phases are not those of the recipe")
    if facts.snapshots is not None:
        _check_snapshots(facts.snapshots, checkpoint)


def _check_snapshots(facts: SnapshotFacts, checkpoint: Checkpoint) -> None:
    texts = len(facts.rows)
    if not texts == len(facts.codes) == len(facts.others):
        raise ValueError("snapshots: rows, codes and others differ in number")
    if len(set(facts.stages)) < len(facts.stages):
        raise ValueError("snapshots: a stage is listed twice")
    paired = sum(other >= 0 for other in facts.others)
    sizes = [texts] * len(facts.stages) + [paired] * (len(facts.stages) if paired else 0)
    saved = {name: value for name, value in checkpoint.tensors.items() if name.startswith(SNAPSHOT)}
    if sorted(saved) != sorted(f"{SNAPSHOT}{number}" for number in range(len(sizes))):
        raise ValueError(f"snapshots: {len(saved)} tensors, but {len(sizes)} are needed")
    for number, size in enumerate(sizes):
        value = saved[f"{SNAPSHOT}{number}"]
        if value.dim() != 2 or len(value) != size:
            raise ValueError(f"snapshots: tensor {number} has the shape {tuple(value.shape)}")
