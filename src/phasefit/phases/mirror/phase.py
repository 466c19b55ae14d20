"""Mirror-BERT (Liu et al., EMNLP 2021): which damage its views take."""

from __future__ import annotations

from phasefit.models.model import Model
from phasefit.models.views import Views, build_views
from phasefit.phases.contract import PhaseData
from phasefit.phases.mirror.options import Options
from phasefit.phases.mirror.strings import RandomStrings
from phasefit.phases.side_by_side.phase import SideBySide
from phasefit.phases.side_by_side.two_views import TwoViews
from phasefit.seeds import derive


class Mirror(SideBySide):
    """One span of the second view is masked; dropout, or dropped heads, damage both."""

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        wanted = list(options.views)
        if options.span:
            span = {"name": "mask-span", "characters": options.span, "min_characters": options.min_characters}
            wanted.insert(0, span)
        views = Views(build_views(name, wanted), model.encoder, where=name)
        instead = RandomStrings(data.texts, derive(seed, name)) if options.random_strings else None
        sides = TwoViews(model.encoder, data, views, instead=instead)
        dropout = 0.0 if options.drop_head else options.dropout
        super().__init__(name, options, model, data, seed, sides=sides, dropout=dropout, drop_head=options.drop_head)
