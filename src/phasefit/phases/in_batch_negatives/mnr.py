"""Multiple negatives ranking (Henderson et al., 2017): find the second text of each pair in the batch."""

from __future__ import annotations

from phasefit.models.model import Model
from phasefit.phases.contract import PhaseData
from phasefit.phases.in_batch_negatives.options import MNROptions
from phasefit.phases.in_batch_negatives.phase import InBatchNegatives
from phasefit.phases.in_batch_negatives.sides import Partners


class MNR(InBatchNegatives):
    """Trains on pairs, or on triples with a hard negative; a larger batch has more negatives."""

    options: MNROptions

    def __init__(self, name: str, options: MNROptions, model: Model, data: PhaseData, seed: int) -> None:
        sides = Partners(name, model.encoder, data, hard_negatives=options.hard_negatives)
        super().__init__(name, options, model, data, seed, sides=sides)
