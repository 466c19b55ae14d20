"""The multitask phase: training step and validation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, ShuffledBatches, TaskBatches
from phasefit.errors import RecipeError
from phasefit.kinds import kind_of
from phasefit.metrics.registry import MEAN
from phasefit.models.model import Model
from phasefit.models.solved_head import Solution
from phasefit.models.tokens.rows import FrozenVectors, Rows
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.finetune.head import head_for, head_loss
from phasefit.phases.finetune.line import fitted_line, has_line
from phasefit.phases.finetune.phase import read_rows
from phasefit.phases.multitask.options import Options, TaskSettings
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

    def frozen(self, model: Model, rows: np.ndarray) -> Tensor:
        """Cached vectors of its rows."""
        return self._frozen.of(model.encoder, rows)


class Multitask(Phase):
    """Trains the heads of several tasks on one encoder, one task or all tasks per step."""

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        if not data.tasks:
            raise RecipeError(f"{name}: needs several tasks; pass a task file as DATA")
        options.check_kinds(name, {task: own.space.kind for task, own in data.tasks.items()})
        self._model = [model]  # a list, so that the model is not registered as a submodule
        if options.shared and not all(task in model.heads for task in data.tasks):  # otherwise the layer exists already
            self.encoder.append_dense("identity", derive(seed, name, "shared"))
        self.tasks = nn.ModuleList(
            Task(name, task, options.tasks.get(task, TaskSettings()), model, own, seed)
            for task, own in data.tasks.items()
        )
        streams = {task.name: task.batches(options.batch_size, derive(seed, name)) for task in self._each()}
        self._batches = TaskBatches(
            streams, mix=options.mix, seed=derive(seed, name), order=options.order, temperature=options.temperature
        )

    def _each(self) -> list[Task]:
        return [task for task in self.tasks if isinstance(task, Task)]

    @property
    def batches(self) -> Batches:
        """Batches of one task or of all tasks."""
        return self._batches

    @property
    def watch(self) -> str:
        """The mean of the metrics of all tasks."""
        return MEAN

    @property
    def starts_untrained(self) -> bool:
        """Whether a head is new rather than taken from a run or an earlier phase, and not fitted as a line."""
        return any(task.starts_untrained for task in self._each())

    def solutions(self, ridge: float | None = None) -> dict[str, Solution]:
        """The lines from cosines to scores, by task."""
        lines = {task.name: task.line(self._model[0], self.options.freeze) for task in self._each()}
        return {name: line for name, line in lines.items() if line is not None}

    def set_solutions(self, solutions: Mapping[str, Solution]) -> None:
        """Use these lines."""
        for task in self._each():
            if task.name in solutions:
                task.head.set_output(solutions[task.name].weight, solutions[task.name].bias)

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder and shared layer unless frozen, and all heads."""
        heads = {"head": [parameter for task in self._each() for parameter in task.head.parameters()]}
        return heads if self.options.freeze else {**encoder_groups(self.encoder), **heads}

    def encode(self, batch: Batch) -> Encoded:
        """Vectors of the rows of each task, by task name."""
        vectors = {}
        for place, task in enumerate(self._each()):
            rows = batch.draw["rows"][batch.draw["task"] == place]
            if not len(rows):
                continue
            if self.options.freeze:
                vectors[task.name] = task.frozen(self._model[0], rows)
            else:
                vectors[task.name] = task.rows.vectors(self.encoder(batch.put(task.rows.features(rows))))
        return vectors

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The weighted mean of the losses of the tasks in the batch."""
        losses, weights, scalars = [], [], {}
        for place, task in enumerate(self._each()):
            if task.name not in encoded:
                continue
            rows = batch.draw["rows"][batch.draw["task"] == place]
            values = batch.tensor(task.loss.values(task.data.values[rows]))
            own: Tensor = task.loss(task.head(encoded[task.name]), values, batch.weights(task.data.weights, rows))
            losses.append(task.settings.weight * own)
            weights.append(task.settings.weight)
            scalars[task.name] = own.detach()
        # With one task in the step its weight scales the loss; with several, the loss is their weighted mean.
        divisor = sum(weights) if len(weights) > 1 else 1.0
        return StepOutput(torch.stack(losses).sum() / divisor, scalars)

    def validate(self) -> dict[str, float]:
        """The metric of each task with validation rows, and their mean."""
        scores = {}
        for task in self._each():
            if len(task.data.validation):
                rows = self.sample(task.data.validation)
                scores[f"{task.name} {task.watch}"] = task.scores(self._model[0], rows, self.options.freeze)[task.watch]
        return {MEAN: float(np.mean(list(scores.values()))), **scores} if scores else {}

    @property
    def encodes_once(self) -> bool:
        """Whether the encoder is frozen."""
        return self.options.freeze

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """The validation rows of each task; a pair has two texts."""
        return [(len(task.data.validation), task.rows.index.shape[1]) for task in self._each()]

    def step_rows(self) -> float:
        """A batch of each task, or of one task on average."""
        sizes = [min(self.options.batch_size, len(task.data.train)) * task.rows.index.shape[1] for task in self._each()]
        rows = sum(sizes) if self.options.mix == "mixed" else float(np.mean(sizes))
        return float(rows * self.options.accumulate)

    def skip_encoding(self) -> int:
        """Skip the vectors of a frozen encoder."""
        return sum(task.skip_encoding(self._model[0]) for task in self._each()) if self.options.freeze else 0

    def facts(self) -> dict[str, float]:
        """Training rows of all tasks."""
        return {"rows": float(sum(len(task.data.train) for task in self._each()))}

    def notes(self) -> list[str]:
        """How tasks are mixed."""
        if self.options.mix == "sequential":
            order = self.options.order or [task.name for task in self._each()]
            return [f"{self.name}: each epoch trains {', then '.join(order)}"]
        shares = zip(self._each(), self._batches.shares(), strict=True)
        if self.options.mix in ("round_robin", "mixed"):
            how = "in turn" if self.options.mix == "round_robin" else "all in every step"
            return [f"{self.name}: {', '.join(task.name for task in self._each())}, {how}"]
        drawn = ", ".join(f"{task.name} ({share:.1%})" for task, share in shares)
        return [f"{self.name}: each step trains one task: {drawn}"]
