"""The step that simcse, mirror and mnr share, and its validation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, Draw, ShuffledBatches
from phasefit.errors import RecipeError
from phasefit.models.encoder.dropout import attention_projections, dropout_rate, dropout_rates, dropped_heads
from phasefit.models.encoder.inference import evaluating
from phasefit.models.encoder.sharing import add_up, turn
from phasefit.models.model import Model
from phasefit.models.seeded import seeded
from phasefit.objectives import Objective
from phasefit.objectives.contract import of_rows
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.in_batch_negatives.options import InBatchOptions
from phasefit.phases.in_batch_negatives.sides import ANCHOR, NEGATIVE, POSITIVE, Sides
from phasefit.phases.objective_option import build_objective, check_input
from phasefit.phases.probe import Probe
from phasefit.seeds import derive, generator

VALIDATION_ROWS, AT_ONCE = 500, 64


class InBatchNegatives(Phase):
    """The sides of a row are positives, the other rows of the batch are negatives; labels are not used.

    A different dropout rate and dropped heads apply only while encoding; the encoder itself is not changed.
    """

    options: InBatchOptions
    chooses_on_all_rows = False  # the rows are a sample in any case

    def __init__(
        self,
        name: str,
        options: InBatchOptions,
        model: Model,
        data: PhaseData,
        seed: int,
        *,
        sides: Sides,
        dropout: float | None = None,
        drop_head: float = 0.0,
    ) -> None:
        super().__init__(name, options, model, data, seed)
        self.objective = build_objective(name, options.objective)
        check_input(name, self.objective, "views")
        if NEGATIVE in sides.names:
            _check_negatives(name, self.objective)
        self.sides, self._dropout, self._drop_head = sides, dropout, drop_head
        if drop_head:
            attention_projections(self.encoder)  # raises for unsupported families before training
        if len(sides.rows) < 2:
            raise RecipeError(f"{name}: needs at least two training rows; found {len(sides.rows)}")
        self.projection: nn.Module = nn.Identity()
        self.probe = Probe(data, seed)
        self.probe.check(name, options.watch)
        shuffled = ShuffledBatches(sides.rows, sides.lengths, batch_size=options.batch_size, seed=derive(seed, name))
        self._batches = AtLeastTwoRows(shuffled, sides.rows, derive(seed, name))

    @property
    def batches(self) -> Batches:
        """Batches of rows, numbered by their first text."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe if there are labels; for pairs the loss, because matching unseen pairs is the goal."""
        if self.options.watch != "auto":
            return self.options.watch
        return "probe" if self.probe and self.sides.noisy else "loss"

    @property
    def gathers(self) -> bool:
        """True: all rows of the batch are negatives."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder, dense layers, and the projection if the phase supports one."""
        parts = encoder_groups(self.encoder)
        if "projection" in self.options.parts:
            parts["projection"] = list(self.projection.parameters())
        return parts

    def encode(self, batch: Batch) -> Encoded:
        """Encode the sides of the rows."""
        with dropout_rate(self.encoder, self._dropout), dropped_heads(self.encoder, self._drop_head):
            encoded = self.sides.encode(batch)
        return {side: self.projection(vectors) for side, vectors in encoded.items()}

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The objective on the rows of all processes."""
        every = {side: batch.gather(vectors.float()) for side, vectors in encoded.items()}
        with torch.autocast(batch.device.type, enabled=False):  # similarities over a temperature need full precision
            weights = batch.weights(self.data.weights, batch.whole["rows"])
            return StepOutput(self._objective_of(every, weights), {})

    def _objective_of(self, encoded: Encoded, weights: Tensor | None = None) -> Tensor:
        sides = (encoded[ANCHOR], encoded[POSITIVE], encoded.get(NEGATIVE))
        return self.objective.views(*sides, **of_rows(weights))

    def validate(self) -> dict[str, float]:
        """The objective on a sample of validation rows, with the same noise at every evaluation, and the probe."""
        scores = self._held_out()
        if self.probe:
            scores |= self.probe.scores(self.encoder, self.sample)
        return scores

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """The sides of the compared validation rows, and the rows of the probe."""
        return [(min(len(self.sides.validation), VALIDATION_ROWS), len(self.sides.names)), *self.probe.parts]

    def step_rows(self) -> float:
        """The sides of a batch of rows."""
        rows = min(self.options.batch_size, len(self.sides.rows))
        return float(rows * len(self.sides.names) * self.options.accumulate)

    def _held_out(self) -> dict[str, float]:
        rows = self.sample(self.sides.validation[:VALIDATION_ROWS])
        if len(rows) < 2:
            return {}
        random, device = generator(self.seed, self.name, "validation"), next(self.parameters()).device
        with evaluating(self), torch.no_grad(), seeded(derive(self.seed, self.name, "validation"), device):
            self.train(self.sides.noisy)
            parts = [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]
            # The noise of all parts is one sequence: every process encodes all of them.
            rank, processes = (0, 1) if self.sides.noisy else turn(self.encoder)
            encoded = {side: torch.zeros(len(rows), self.encoder.dimension, device=device) for side in self.sides.names}
            for number, part in enumerate(parts):
                if number % processes == rank:
                    place = slice(number * AT_ONCE, number * AT_ONCE + len(part))
                    for side, vectors in self.encode(Batch({"rows": part}, random, device)).items():
                        encoded[side][place] = vectors
            if processes > 1:
                encoded = {side: add_up(self.encoder, vectors) for side, vectors in encoded.items()}
            return {"loss": float(self._objective_of(encoded))}

    def facts(self) -> dict[str, float]:
        """Rows per epoch."""
        return {"rows": float(len(self.sides.rows))}

    def notes(self) -> list[str]:
        """Notes of the sides, and a warning if both views are the same."""
        rates = dropout_rates(self.encoder) if self._dropout is None else [self._dropout]
        if self.sides.alike and not any(rates) and not self._drop_head:
            same = "without dropout or views, both views of a text are the same; set dropout = 0.1"
            return [*self.sides.notes(), f"{self.name}: {same}"]
        return self.sides.notes()


def _check_negatives(where: str, objective: Objective) -> None:
    """Raise if the objective does not accept hard negatives."""
    some = torch.eye(2)
    try:
        objective.views(some, some, some)
    except TypeError:
        raise RecipeError(
            f"{where}: the table has hard negatives, which objective '{objective.name}' does not support; use "
            "hard_negatives = false, or the objective 'info-nce'"
        ) from None


class AtLeastTwoRows:
    """Batches with at least two rows: a single row would have no negatives, so another row is drawn."""

    def __init__(self, batches: Batches, rows: np.ndarray, seed: int) -> None:
        if len(rows) < 2:
            raise ValueError("at least two rows are needed")
        self._inner, self._rows, self._seed = batches, rows, seed

    def __len__(self) -> int:
        return len(self._inner)

    def epoch(self, number: int) -> Iterator[Draw]:
        """The batches of one epoch."""
        random = generator(self._seed, "company", number)
        for draw in self._inner.epoch(number):
            rows = draw["rows"]
            if len(rows) == 1:
                place = int(random.integers(len(self._rows)))
                other = self._rows[place] if self._rows[place] != rows[0] else self._rows[place - 1]
                rows = np.append(rows, other)
            yield {"rows": rows}
