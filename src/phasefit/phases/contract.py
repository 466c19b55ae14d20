"""What a phase promises to the loop, and what it is given to work with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, Draw
from phasefit.data.labels import LabelSpace
from phasefit.metrics.registry import metric_at
from phasefit.models.encoder.freezing import freeze_below
from phasefit.models.model import Model
from phasefit.models.tokens.tokens import Features, Tokens
from phasefit.phases.options import PhaseOptions

Encoded: TypeAlias = dict[str, Tensor]


@dataclass(frozen=True)
class PhaseData:
    """All texts of a run under one numbering, and which of them may be used for what."""

    texts: Sequence[str]
    tokens: Tokens
    codes: np.ndarray  # (texts,) class codes, or the groups that labels fall into; -1 where there is no label
    space: LabelSpace
    train: np.ndarray
    validation: np.ndarray
    unlabelled: np.ndarray
    others: np.ndarray | None = None  # (texts, 1 or 2): the positive, the hard negative beside a text; -1 for none
    values: Any = None  # (texts, ...): what there is to learn of each label; codes if not given
    of_pairs: bool = False  # whether a label is that of a text and the one beside it
    tasks: Mapping[str, PhaseData] = field(default_factory=dict)  # of several tasks each, over the same texts

    def __post_init__(self) -> None:
        """One class per text is learned as its code."""
        if self.values is None:
            object.__setattr__(self, "values", self.codes)

    @property
    def pairs(self) -> np.ndarray | None:
        """The other text of each row, where labels are those of pairs."""
        return self.others[:, 0] if self.of_pairs and self.others is not None else None

    def targets(self, rows: np.ndarray) -> np.ndarray:
        """What objectives see of the rows' labels."""
        return self.space.targets(self.values[rows])


@dataclass(frozen=True)
class Batch:
    """One draw of rows, the generator for whatever a step draws, and where tensors go."""

    draw: Draw
    generator: np.random.Generator
    device: torch.device

    def put(self, features: Features) -> Features:
        """Features on the right device."""
        return {name: value.to(self.device, non_blocking=True) for name, value in features.items()}

    def tensor(self, values: np.ndarray) -> Tensor:
        """An array on the right device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)


class StepOutput(NamedTuple):
    """The loss of a step and figures worth logging."""

    loss: Tensor
    scalars: dict[str, Tensor]


class Phase(nn.Module, ABC):
    """One kind of training step over a model's encoder, with whatever it adds (decoder, head, proxies).

    A step is `encode` then `loss`: kept apart so that a loop can encode in chunks, or gather from other processes,
    without knowing what the phase does.
    """

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
        """The stream of rows to train on."""

    @property
    @abstractmethod
    def watch(self) -> str:
        """The score that decides which weights are kept."""

    @property
    def gathers(self) -> bool:
        """Whether the loss looks at the rows of all processes."""
        return False

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller watched score is a better one."""
        return metric_at(self.watch).higher_is_better is False

    @property
    def starts_untrained(self) -> bool:
        """True if weights from before the first step must never win: a fresh head knows nothing."""
        return False

    def slack(self, scores: dict[str, float]) -> float:
        """By how much later weights may be worse and still be kept; what the score cannot tell apart."""
        return 0.0

    @abstractmethod
    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Trained parameters by part, for learning rates of their own."""

    @property
    def chunk(self) -> int | None:
        """Rows that are encoded at once, where the loss must see more of them than memory holds; None: all."""
        return getattr(self.options, "chunk", None)

    def before_step(self, step: int) -> None:
        """Called ahead of every step, for what is renewed now and then; what it changes is kept in buffers."""

    @abstractmethod
    def encode(self, batch: Batch) -> Encoded:
        """Rows -> vectors, one along the first axis for each row of the draw."""

    def join(self, parts: Sequence[Encoded]) -> Encoded:
        """The vectors of a batch out of those of its chunks."""
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}

    @abstractmethod
    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """Vectors -> loss."""

    def forward(self, batch: Batch) -> StepOutput:
        """One step."""
        return self.loss(self.encode(batch), batch)

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Validation scores, the watched one among them; empty where there is nothing to validate on."""

    def evaluation_rows(self) -> int:
        """About how many rows one validation encodes: what it costs."""
        return len(self.data.validation)

    def facts(self) -> dict[str, float]:
        """Numbers worth telling before the phase starts."""
        return {"rows": float(len(self.data.train))}

    def notes(self) -> list[str]:
        """Sentences worth telling before the phase starts."""
        return []


def encoder_groups(encoder: nn.Module) -> dict[str, list[nn.Parameter]]:
    """The Transformer apart from the layers added behind it, which are young and can learn faster."""
    layers = list(encoder.layers)  # type: ignore[arg-type]
    body = [p for p in layers[0].parameters() if p.requires_grad]
    dense = [p for layer in layers[1:] for p in layer.parameters() if p.requires_grad]
    return {"encoder": body, "dense": dense}
