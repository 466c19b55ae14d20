"""The head of a task, either the model's existing head or a new one, and its loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from phasefit.data.labels import LabelSpace
from phasefit.kinds import kind_of
from phasefit.kinds.losses import HeadLoss
from phasefit.models.heads import Head
from phasefit.models.model import Model
from phasefit.phases.contract import Encoded, PhaseData
from phasefit.phases.finetune.options import HeadSettings


def head_for(model: Model, task: str, data: PhaseData, options: HeadSettings, seed: int) -> tuple[bool, Head]:
    """Return whether the model's existing head is reused, and the head, extended to new classes if necessary."""
    dimension, outputs = model.encoder.dimension, data.space.outputs
    pair = None if data.pairs is None else options.pair
    if task in model.heads:
        old = model.head(task)
        if (old.kind, old.dimension, old.pair) == (options.head, dimension, pair):
            head = old if old.classes == outputs else old.grown(outputs, seed)
            head.set_dropout(options.dropout)
            return True, head
    return False, fresh_head(data, dimension, options, seed)


def fresh_head(data: PhaseData, dimension: int, options: HeadSettings, seed: int) -> Head:
    """A new head; for multi-label tasks it starts at the label frequencies unless class weights are balanced."""
    pair = None if data.pairs is None else options.pair
    head = Head(options.head, dimension, data.space.outputs, dropout=options.dropout, seed=seed, pair=pair)
    if options.class_weights == "none" and len(data.train):
        frequencies = kind_of(data.space).frequencies(data.values[data.train])
        if frequencies is not None:
            head.start_at(torch.from_numpy(frequencies))
    return head


def head_loss(where: str, space: LabelSpace, train: np.ndarray, options: HeadSettings) -> HeadLoss:
    """The loss of a head; `train` holds the labels of the training rows. Raise if an option does not apply."""
    options.check_kind(where, space.kind)
    return kind_of(space).loss(space, train, options)


def stacked(parts: Sequence[Encoded]) -> Encoded:
    """Concatenate parts row by row; token states and masks are padded to one length."""
    return {name: torch.cat(_pad_to_longest(name, [part[name] for part in parts])) for name in parts[0]}


def _pad_to_longest(name: str, tensors: list[Tensor]) -> list[Tensor]:
    if not name.startswith(("states", "mask")):
        return tensors
    longest = max(tensor.shape[1] for tensor in tensors)
    tail = [0, 0] if name.startswith("states") else []
    return [pad(tensor, [*tail, 0, longest - tensor.shape[1]]) for tensor in tensors]
