"""Labelled pairs: their cosine is brought to what the label says, a score or yes and no."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from phasefit.data.batches import Batches, ShuffledBatches
from phasefit.errors import RecipeError
from phasefit.kinds import kind_of
from phasefit.metrics.regression import quick_regression
from phasefit.models.gather import gather
from phasefit.models.model import Model
from phasefit.models.tokens.rows import Rows
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.cosine.options import Options
from phasefit.phases.objective_option import build_objective
from phasefit.seeds import derive


class Cosine(Phase):
    """The two texts of a pair, encoded apart; what comes out is an encoder."""

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        if data.pairs is None:
            raise RecipeError(f"{name}: pairs of texts with labels are needed; give two columns: --text a --text b")
        self.objective = build_objective(name, options.objective)
        self._targets = agreements(name, data)
        self.rows = Rows.apart(data.tokens, data.pairs)
        lengths, of_batches = self.rows.lengths(data.train), derive(seed, name)
        self._batches = ShuffledBatches(data.train, lengths, batch_size=options.batch_size, seed=of_batches)

    @property
    def batches(self) -> Batches:
        """Labelled pairs."""
        return self._batches

    @property
    def watch(self) -> str:
        """A correlation."""
        return self.options.watch

    @property
    def gathers(self) -> bool:
        """Some objectives look at all pairs of a batch."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """The encoder."""
        return encoder_groups(self.encoder)

    def encode(self, batch: Batch) -> Encoded:
        """Rows -> both vectors side by side."""
        return {"vectors": self.rows.vectors(self.encoder(batch.put(self.rows.features(batch.draw["rows"]))))}

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The objective over the pairs of all processes."""
        vectors = encoded["vectors"].float()
        with torch.autocast(vectors.device.type, enabled=False):
            both, targets = gather(vectors), gather(batch.tensor(self._targets[batch.draw["rows"]]))
            left, right = both.chunk(2, dim=1)
            return StepOutput(self.objective.pairs(left, right, targets), {})

    def validate(self) -> dict[str, float]:
        """How well cosines follow the labels of the validation pairs."""
        rows = self.data.validation
        if not len(rows):
            return {}
        left, right = self.rows.encode(self.encoder, rows).chunk(2, dim=1)
        scores = quick_regression(self._targets[rows], cosine_similarity(left, right).cpu().double().numpy())
        return {name: scores[name] for name in ("spearman", "pearson")}

    def evaluation_rows(self) -> int:
        """Both texts of each pair."""
        return 2 * len(self.data.validation)


def agreements(where: str, data: PhaseData) -> np.ndarray:
    """What each label says about how alike the two texts are, from 0 to 1; 0 where there is no label."""
    alike = np.zeros(len(data.texts), dtype=np.float32)
    known = np.concatenate([data.train, data.validation])
    likeness = kind_of(data.space).likeness(data.space, data.values[known], data.values[data.train])
    if likeness is None:
        raise RecipeError(
            f"{where}: labels must say how alike two texts are: scores, or names such as 1 and 0, yes and no, "
            f"entailment and contradiction; found {', '.join(data.space.names[:5])}"
        )
    alike[known] = likeness
    return alike
