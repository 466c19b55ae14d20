"""SimCSE (Gao et al., EMNLP 2021): its sides and its projection."""

from __future__ import annotations

from torch import nn

from phasefit.models.model import Model
from phasefit.models.seeded import seeded
from phasefit.models.views import Views, build_views
from phasefit.phases.contract import PhaseData
from phasefit.phases.in_batch_negatives.options import SimCSEOptions
from phasefit.phases.in_batch_negatives.phase import InBatchNegatives
from phasefit.phases.in_batch_negatives.sides import Partners, Sides, TwoViews
from phasefit.seeds import derive


class SimCSE(InBatchNegatives):
    """Two dropout views of a text, or a pair of texts; the projection is discarded after the phase."""

    options: SimCSEOptions

    def __init__(self, name: str, options: SimCSEOptions, model: Model, data: PhaseData, seed: int) -> None:
        sides: Sides
        if options.supervised:
            sides = Partners(name, model.encoder, data, hard_negatives=options.hard_negatives)
        else:
            views = Views(build_views(name, options.views), model.encoder, where=name)
            sides = TwoViews(model.encoder, data, views)
        super().__init__(name, options, model, data, seed, sides=sides, dropout=options.dropout)
        if options.projects:
            size = model.encoder.dimension
            with seeded(derive(seed, name, "projection")):
                self.projection = nn.Sequential(nn.Linear(size, size), nn.Tanh())
