"""Contrast: the step, and how it is validated."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, ClassBatches, PairBatches, draw_pairs
from phasefit.data.batches.pairs import shuffles
from phasefit.data.seeds import derive
from phasefit.errors import RecipeError
from phasefit.models.encoder import sentence_vectors
from phasefit.models.gather import gather
from phasefit.models.inference import encode_rows
from phasefit.models.model import Model
from phasefit.objectives import pair_agreement
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.contrast.grown import GrownRows
from phasefit.phases.contrast.options import Options
from phasefit.phases.objective_option import build_objective
from phasefit.phases.probe import Probe

PAIRED_ROWS = 200  # of validation: some 20,000 pairs


class Contrast(Phase):
    """A metric objective on all pairs of class-aware batches, or on the paper's explicit pairs."""

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        self.objective: Any = build_objective(name, options.objective)
        if len(np.unique(data.codes[data.train])) < 2:
            raise RecipeError(f"{name}: contrast needs at least two classes in the training rows")
        self.encoder.append_dense(options.dense, derive(seed, name, "dense"))
        self.grown = GrownRows(data, options.balance, derive(seed, name))
        self.probe = Probe(data, seed)
        self.pairs = 0
        self._batches: Batches = self._explicit() if options.pairs == "explicit" else self._class_aware()

    def _class_aware(self) -> Batches:
        codes = self.data.codes[self.grown.rows]
        batches = ClassBatches(
            codes,
            batch_size=self.options.batch_size,
            per_class=self.options.per_class,
            seed=derive(self.seed, self.name),
        )
        self.pairs = len(batches) * batches.size * (batches.size - 1) // 2
        return batches

    def _explicit(self) -> Batches:
        rows, seed = self.grown.rows, derive(self.seed, self.name)
        times = shuffles(self.options.augmentation, len(np.unique(self.data.codes[rows])))
        pairs, _ = draw_pairs(self.data.targets(rows), rows, times=times, seed=seed)
        if not len(pairs):
            raise RecipeError(f"{self.name}: no two training rows make a pair; use pairs = 'batch'")
        self.pairs = len(pairs)
        return PairBatches(pairs, self.data.tokens.lengths[rows], batch_size=self.options.batch_size, seed=seed)

    @property
    def batches(self) -> Batches:
        """Places among the grown rows, or pairs of them."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe, or the objective on validation rows."""
        return "probe" if self.options.watch == "auto" else self.options.watch

    @property
    def lower_is_better(self) -> bool:
        """A loss."""
        return self.watch == "pairs"

    @property
    def gathers(self) -> bool:
        """Pairs are those of the whole batch."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder and added layers."""
        return encoder_groups(self.encoder)

    def encode(self, batch: Batch) -> Encoded:
        """Places -> vectors; a text that is in several pairs of the batch is encoded once."""
        wanted = next(iter(batch.draw.values()))
        places, back = np.unique(wanted, return_inverse=True)
        vectors = sentence_vectors(self.encoder(batch.put(self.grown.features(places, batch.generator))))
        return {"vectors": vectors[batch.tensor(back.reshape(wanted.shape))]}  # NumPy 1 gives it flat

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The objective over the batch, across processes when pairs are in-batch."""
        vectors = encoded["vectors"].float()
        with torch.autocast(vectors.device.type, enabled=False):  # similarities over a temperature need full precision
            return StepOutput(self._objective_of(vectors, batch), {})

    def _objective_of(self, vectors: Tensor, batch: Batch) -> Tensor:
        value: Tensor
        if "pairs" in batch.draw:
            left, right = (batch.tensor(self._targets(batch.draw["pairs"][:, side])) for side in (0, 1))
            value = self.objective.pairs(vectors[:, 0], vectors[:, 1], _agree(left, right))
        else:
            targets = batch.tensor(self._targets(batch.draw["rows"]))
            value = self.objective(gather(vectors), gather(targets))
        return value

    def validate(self) -> dict[str, float]:
        """The probe, and the objective over pairs of validation rows."""
        scores: dict[str, float] = {}
        if len(self.data.validation) > 1:
            scores["pairs"] = self._validation_pairs()
        if self.probe:
            scores |= self.probe.scores(self.encoder)
        return scores

    def rows_looked_at(self) -> int:
        """Those that are paired, and the probe's."""
        return min(len(self.data.validation), PAIRED_ROWS) + len(self.probe)

    def _validation_pairs(self) -> float:
        rows = self.data.validation[:PAIRED_ROWS]
        vectors = encode_rows(self.encoder, self.data.tokens, rows)
        targets = torch.from_numpy(self.data.targets(rows)).to(vectors.device)
        with torch.no_grad():
            return float(self.objective(vectors, targets))

    def facts(self) -> dict[str, float]:
        """Rows after the correction, and pairs per epoch."""
        return {"rows": float(len(self.grown)), "pairs": float(self.pairs)}

    def notes(self) -> list[str]:
        """What the imbalance correction did, also when that is nothing."""
        if self.options.balance.mode == "none":
            return []
        more = len(self.grown) - len(self.data.train)
        if not more:
            return [f"{self.name}: the classes are balanced enough; the imbalance correction changes nothing"]
        return [f"{self.name}: the imbalance correction adds {more} noised copies of rows of small classes"]

    def _targets(self, places: np.ndarray) -> np.ndarray:
        return self.data.targets(self.grown.rows[places])


def _agree(left: Tensor, right: Tensor) -> Tensor:
    if left.dim() == 1:
        left, right = left[:, None], right[:, None]
    return pair_agreement(left, right)


PHASE = Contrast
