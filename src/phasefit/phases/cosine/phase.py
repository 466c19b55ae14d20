"""The cosine phase: train the cosine of a pair to match its label, a score or yes/no."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from phasefit.data.batches import Batches, ShuffledBatches
from phasefit.errors import RecipeError
from phasefit.kinds import kind_of
from phasefit.metrics.regression import quick_regression
from phasefit.models.model import Model
from phasefit.models.tokens.rows import Rows
from phasefit.objectives.contract import of_rows
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.cosine.options import Options
from phasefit.phases.objective_option import build_objective
from phasefit.seeds import derive


class Cosine(Phase):
    """Encodes the two texts of a pair separately. The result is an encoder without a head."""

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        if data.pairs is None:
            raise RecipeError(f"{name}: needs labelled pairs of texts; name both text columns: --text a --text b")
        self.objective = build_objective(name, options.objective)
        self._targets = agreements(name, data)
        self.rows = Rows.apart(data.tokens, data.pairs)
        lengths, batch_seed = self.rows.lengths(data.train), derive(seed, name)
        self._batches = ShuffledBatches(data.train, lengths, batch_size=options.batch_size, seed=batch_seed)

    @property
    def batches(self) -> Batches:
        """Batches of labelled pairs."""
        return self._batches

    @property
    def watch(self) -> str:
        """The correlation that selects the weights."""
        return self.options.watch

    @property
    def gathers(self) -> bool:
        """True: some objectives compare all pairs of a batch."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """The encoder."""
        return encoder_groups(self.encoder)

    def encode(self, batch: Batch) -> Encoded:
        """Encode both texts of each row, side by side."""
        return {"vectors": self.rows.vectors(self.encoder(batch.put(self.rows.features(batch.draw["rows"]))))}

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The objective on the pairs of all processes."""
        vectors = encoded["vectors"].float()
        with torch.autocast(vectors.device.type, enabled=False):
            rows = batch.whole["rows"]
            left, right = batch.gather(vectors).chunk(2, dim=1)
            given = of_rows(batch.weights(self.data.weights, rows))
            return StepOutput(self.objective.pairs(left, right, batch.tensor(self._targets[rows]), **given), {})

    def validate(self) -> dict[str, float]:
        """Correlations of cosines and labels on the validation pairs."""
        rows = self.sample(self.data.validation)
        if not len(rows):
            return {}
        left, right = self.rows.encode(self.encoder, rows).chunk(2, dim=1)
        scores = quick_regression(self._targets[rows], cosine_similarity(left, right).cpu().double().numpy())
        return {name: scores[name] for name in ("spearman", "pearson")}

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """Both texts of each pair."""
        return [(len(self.data.validation), 2)]

    def step_rows(self) -> float:
        """Both texts of each pair."""
        return 2 * super().step_rows()


def agreements(where: str, data: PhaseData) -> np.ndarray:
    """Target similarity of each pair, from 0 to 1; 0 for rows without a label."""
    similarities = np.zeros(len(data.texts), dtype=np.float32)
    known = np.concatenate([data.train, data.validation])
    likeness = kind_of(data.space).likeness(data.space, data.values[known], data.values[data.train])
    if likeness is None:
        raise RecipeError(
            f"{where}: labels must be similarity scores, or names such as 1 and 0, yes and no, entailment and "
            f"contradiction; found {', '.join(data.space.names[:5])}"
        )
    similarities[known] = likeness
    return similarities
