"""The loss of a head, by the kind of the labels that it learns."""

from __future__ import annotations

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.kinds import kind_of
from phasefit.kinds.losses import HeadLoss
from phasefit.phases.finetune.options import HeadSettings


def head_loss(where: str, space: LabelSpace, train: np.ndarray, options: HeadSettings) -> HeadLoss:
    """What a head learns by; `train` are the values of the training rows. Options that mean nothing are refused."""
    options.check_kind(where, space.kind)
    return kind_of(space).loss(space, train, options)
