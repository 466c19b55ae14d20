"""The head of a task: the one that the model has, if it fits, or a fresh one."""

from __future__ import annotations

import torch

from phasefit.kinds import kind_of
from phasefit.models.heads.head import Head
from phasefit.models.model import Model
from phasefit.phases.contract import PhaseData
from phasefit.phases.finetune.options import HeadSettings


def head_for(model: Model, task: str, data: PhaseData, options: HeadSettings, seed: int) -> tuple[bool, Head]:
    """Whether the model goes on with its own head, grown to the classes it now needs, and the head."""
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
    """A head that knows nothing but how frequent each of several labels is; balanced weights make all as frequent."""
    pair = None if data.pairs is None else options.pair
    head = Head(options.head, dimension, data.space.outputs, dropout=options.dropout, seed=seed, pair=pair)
    if options.class_weights == "none" and len(data.train):
        frequencies = kind_of(data.space).frequencies(data.values[data.train])
        if frequencies is not None:
            head.start_at(torch.from_numpy(frequencies))
    return head
