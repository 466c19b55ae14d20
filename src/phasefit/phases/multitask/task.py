"""One task of the multitask phase."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from phasefit.data.batches import Batches, ShuffledBatches
from phasefit.kinds import kind_of
from phasefit.models.model import Model
from phasefit.models.solved_head import Solution
from phasefit.models.tokens.rows import FrozenVectors, Rows
from phasefit.phases.contract import PhaseData
from phasefit.phases.finetune.head import head_for, head_loss
from phasefit.phases.finetune.line import fitted_line, has_line
from phasefit.phases.finetune.phase import read_rows
from phasefit.phases.multitask.options import TaskSettings
from phasefit.seeds import derive


class Task(nn.Module):
    """One task: its head, loss, rows and validation metric."""

    def __init__(self, phase: str, name: str, settings: TaskSettings, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__()
        where = f"{phase}, task '{name}'"
        self.name, self.settings, self.data = name, settings, data
        self._seed = derive(seed, phase, name)
        self.reuses_head, self.head = head_for(model, name, data, settings, derive(seed, phase, name, "head"))
        model.heads[name], model.spaces[name] = self.head, data.space
        self.loss = head_loss(where, data.space, data.values[data.train], settings)
        self.rows: Rows = read_rows(model, data, settings.pair)
        self._kind = kind_of(data.space)
        self.watch = settings.watched(where, data.space.kind)
        self._frozen = FrozenVectors(self.rows, np.concatenate([data.train, data.validation]))

    def batches(self, size: int, seed: int) -> Batches:
        """Batches of its training rows."""
        train = self.data.train
        return ShuffledBatches(train, self.rows.lengths(train), batch_size=size, seed=derive(seed, self.name))

    @property
    def starts_untrained(self) -> bool:
        """Whether its head is new and not fitted as a line."""
        return not self.reuses_head and not has_line(self.head, self.data)

    def line(self, model: Model, frozen: bool) -> Solution | None:
        """The line from cosines to scores, if that is what its head is."""
        if not has_line(self.head, self.data):
            return None
        return fitted_line(self.head, self.loss, self.data, lambda rows: self._vectors(model, rows, frozen), self._seed)

    def scores(self, model: Model, rows: np.ndarray, frozen: bool) -> dict[str, float]:
        """Metrics on these validation rows."""
        vectors = self._vectors(model, rows, frozen)
        return self._kind.validate(self.data.values[rows], model.outputs(vectors, self.name))

    def _vectors(self, model: Model, rows: np.ndarray, frozen: bool) -> Tensor:
        return self.frozen(model, rows) if frozen else self.rows.encode(model.encoder, rows)

    def skip_encoding(self, model: Model) -> int:
        """Skip the cached vectors of its rows, to time steps."""
        return self._frozen.skip(model.encoder)

    def fill(self, model: Model) -> None:
        """Encode its rows, which are then cached."""
        self._frozen.fill(model.encoder)

    def frozen(self, model: Model, rows: np.ndarray) -> Tensor:
        """Cached vectors of its rows."""
        return self._frozen.of(model.encoder, rows)
