"""The model of a recipe that names a baseline instead of phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from phasefit.baselines import baseline
from phasefit.baselines.contract import FitOptions, SavableBaseline
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.recipe import Recipe
from phasefit.runs.specification import RunSpec

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.models.predictor import Predictor


def baseline_model(spec: RunSpec, recipe: Recipe, prepared: Prepared) -> Predictor:
    """Fit the baseline of a recipe on the training rows; the options of the whole run apply to its encoder."""

    def set_up(model: Model) -> None:
        from phasefit.models.encoder.long_texts import Long
        from phasefit.runs.fitting.index_rows import set_max_length

        if recipe.prompt is not None:
            model.encoder.set_template(recipe.prompt)
        set_max_length(model.encoder, recipe.max_length, prepared, spec.seed)
        if recipe.long is not None:
            model.encoder.set_long(cast(Long, recipe.long))

    options = FitOptions(spec.seed, spec.model, spec.machine.device, spec.machine.precision, set_up)
    chosen = cast(SavableBaseline, baseline(str(recipe.baseline)))
    return chosen.fit_model(prepared, options)
