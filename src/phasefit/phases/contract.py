"""The interface between a phase and the training loop, and the data a phase receives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches
from phasefit.data.labels import LabelSpace
from phasefit.metrics.registry import metric_at
from phasefit.models.encoder.freezing import freeze_below
from phasefit.models.model import Model
from phasefit.models.solved_head import Solution
from phasefit.models.tokens.tokens import Tokens
from phasefit.phases.batch import Batch
from phasefit.phases.options import PhaseOptions
from phasefit.seeds import generator

__all__ = ["AfterStep", "Batch", "Encoded", "Phase", "PhaseData", "StepOutput", "encoder_groups"]

Encoded: TypeAlias = dict[str, Tensor]


@dataclass(frozen=True)
class PhaseData:
    """All texts of a run, numbered once, and the rows of each split."""

    texts: Sequence[str]
    tokens: Tokens
    codes: np.ndarray  # (texts,) class codes, or groups of labels; -1: no label
    space: LabelSpace
    train: np.ndarray
    validation: np.ndarray
    unlabelled: np.ndarray
    others: np.ndarray | None = None  # (texts, 1 or 2): row of the positive and hard negative; -1: none
    values: Any = None  # (texts, ...): the training targets of the labels; default: codes
    of_pairs: bool = False  # whether labels belong to pairs of texts
    tasks: Mapping[str, PhaseData] = field(default_factory=dict)  # one entry per task, over the same texts
    weights: np.ndarray | None = None  # (texts,): weights in the losses, with mean 1 in train; None: all equal

    def __post_init__(self) -> None:
        """Use the class codes as values by default."""
        if self.values is None:
            object.__setattr__(self, "values", self.codes)

    def __deepcopy__(self, memo: dict[int, Any]) -> PhaseData:
        """Copies of a phase share the rows, which never change."""
        return self

    @property
    def pairs(self) -> np.ndarray | None:
        """The second text of each row if labels belong to pairs, otherwise None."""
        return self.others[:, 0] if self.of_pairs and self.others is not None else None

    def targets(self, rows: np.ndarray) -> np.ndarray:
        """The labels of the rows as targets of an objective."""
        return self.space.targets(self.values[rows])


class StepOutput(NamedTuple):
    """The loss of a step and the scalars to log."""

    loss: Tensor
    scalars: dict[str, Tensor]


@dataclass(frozen=True)
class AfterStep:
    """What a phase did after a step, in its buffers: notes about it, and whether the phase is over."""

    notes: list[str] = field(default_factory=list)
    over: bool = False


class Phase(nn.Module, ABC):
    """One kind of training step on the encoder of a model, with the modules it adds (decoder, head, proxies).

    A step is `encode`, then `loss`. They are separate so that the loop can encode in chunks or gather from other
    processes without knowing what the phase does.
    """

    chooses_on_all_rows: ClassVar[bool] = True  # whether candidates chosen on a sample are compared on all rows
    evaluation_cap: int | None = None  # the most rows of each part of an evaluation; None: all
    contributions: np.ndarray | None = None  # of each row to the score of the last evaluation, if they are known

    def __init__(self, name: str, options: PhaseOptions, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__()
        self.name = name
        self.options = options
        self.encoder = model.encoder
        self.data = data
        self.seed = seed
        freeze_below(model.encoder, options.frozen_layers, words=options.freeze_words, where=name)

    @property
    @abstractmethod
    def batches(self) -> Batches:
        """The batches to train on."""

    @property
    @abstractmethod
    def watch(self) -> str:
        """The score that decides which weights are kept."""

    @property
    def gathers(self) -> bool:
        """Whether `loss` returns the loss of the whole batch, or a part of it whose mean over processes is that loss.

        Otherwise it returns the mean over the rows of this process, which the loop weights by their number.
        """
        return False

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower watched score is better."""
        return metric_at(self.watch).higher_is_better is False

    @property
    def starts_untrained(self) -> bool:
        """Whether the weights before the first step must not be kept: a new head, or a random layer in the encoder."""
        return False

    def slack(self, best: np.ndarray | None, later: np.ndarray | None) -> float | None:
        """How much lower the score of later weights may be for them to be kept, from the contributions of each row to
        both scores; None: they must score higher."""
        return None

    @property
    def is_solved(self) -> bool:
        """Whether all that it trains is solved, so that it takes no steps."""
        return False

    def solutions(self, ridge: float | None = None) -> dict[str, Solution]:
        """The layers of heads that are solved rather than trained, by task; they depend on the encoder.

        `ridge` is the penalty that an earlier fit chose.
        """
        return {}

    def set_solutions(self, solutions: Mapping[str, Solution]) -> None:
        """Use these layers; the result of `solutions`, of this process or another."""

    @abstractmethod
    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Trained parameters by part; each part may have its own learning rate."""

    @property
    def chunk(self) -> int | None:
        """Number of rows encoded at once if the whole batch does not fit in memory; None: all."""
        return getattr(self.options, "chunk", None)

    def before_step(self, step: int) -> None:
        """Called before every step, to refresh state periodically. State must be stored in buffers."""

    def set_steps(self, total: int) -> None:
        """Called before the first step, with the number of steps that the learning rate schedule is planned for."""

    def segment(self, step: int) -> tuple[int, int] | None:
        """The position of a step in its segment, from 1, and the length of the segment; None: there is only one.

        Every segment has its own learning rate schedule and a fresh optimiser.
        """
        return None

    def after_step(self, step: int, *, last: bool) -> AfterStep | None:
        """Called after every step, before an evaluation; None if nothing was done. State must be stored in buffers."""
        return None

    def evaluates(self, step: int, usual: bool) -> bool:
        """Whether to evaluate after a step; `usual` is what the schedule plans."""
        return usual

    @abstractmethod
    def encode(self, batch: Batch) -> Encoded:
        """Encode a batch; the first axis of each tensor is the rows of the draw."""

    def join(self, parts: Sequence[Encoded]) -> Encoded:
        """Concatenate the vectors of chunks."""
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    @abstractmethod
    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """Compute the loss from the encoded batch."""

    def forward(self, batch: Batch) -> StepOutput:
        """One step."""
        return self.loss(self.encode(batch), batch)

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Validation scores, including the watched one; empty without validation rows."""

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """The rows that an evaluation of all rows encodes, and the number of texts per row, for each kind of row."""
        return [(len(self.data.validation), 1)]

    def evaluation_rows(self, cap: int | None = None) -> int:
        """Approximate number of texts that one evaluation encodes: its cost. `cap` is that of each part."""
        cap = self.evaluation_cap if cap is None else cap
        return sum((rows if cap is None else min(rows, cap)) * texts for rows, texts in self.evaluation_parts())

    def step_rows(self) -> float:
        """Approximate number of texts that one step encodes."""
        return float(min(self.options.batch_size, max(len(self.data.train), 1)) * self.options.accumulate)

    @property
    def encodes_once(self) -> bool:
        """Whether the encoder is frozen, so that evaluations cost next to nothing."""
        return False

    def sample(self, rows: np.ndarray) -> np.ndarray:
        """The rows to evaluate on: all of them, or the same random ones at every evaluation."""
        if self.evaluation_cap is None or len(rows) <= self.evaluation_cap:
            return rows
        random = generator(self.seed, self.name, "evaluation")
        return np.sort(random.choice(rows, self.evaluation_cap, replace=False))

    def skip_encoding(self) -> int:
        """Before its steps are timed: skip what is encoded once before the first step; returns the number of rows."""
        return 0

    def facts(self) -> dict[str, float]:
        """Numbers to report before the phase starts."""
        return {"rows": float(len(self.data.train))}

    def notes(self) -> list[str]:
        """Notes to report before the phase starts."""
        return []

    def results(self) -> dict[str, Any]:
        """What the phase adds to its entry in metrics.json, as JSON values."""
        return {}


def encoder_groups(encoder: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Parameters of the Transformer, and of the dense layers added after it, which can have a higher learning rate."""
    layers = list(encoder.layers)  # type: ignore[arg-type]
    body = [p for p in layers[0].parameters() if p.requires_grad]
    dense = [p for layer in layers[1:] for p in layer.parameters() if p.requires_grad]
    return {"encoder": body, "dense": dense}
