"""The multitask phase: training step and validation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, TaskBatches, UnionBatches
from phasefit.errors import RecipeError
from phasefit.metrics.registry import MEAN
from phasefit.models.model import Model
from phasefit.models.solved_head import Solution
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.multitask.options import Options, TaskSettings
from phasefit.phases.multitask.task import Task
from phasefit.seeds import derive


class Multitask(Phase):
    """Trains the heads of several tasks on one encoder, one task or several per step."""

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
        self._batches = self._streams(derive(seed, name))

    def _each(self) -> list[Task]:
        return [task for task in self.tasks if isinstance(task, Task)]

    def _streams(self, seed: int) -> TaskBatches | UnionBatches:
        """The training rows of all tasks by the schedule."""
        options = self.options
        if options.mix == "union":
            rows = {task.name: task.data.train for task in self._each()}
            return UnionBatches(rows, batch_size=options.batch_size, seed=seed)
        streams = {task.name: task.batches(options.batch_size, seed) for task in self._each()}
        return TaskBatches(streams, mix=options.mix, seed=seed, order=options.order, temperature=options.temperature)

    @property
    def batches(self) -> Batches:
        """Batches of one task, of all tasks, or of any."""
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

    @property
    def gathers(self) -> bool:
        """True: the mean of a task is over its rows in all processes."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder and shared layer unless frozen, and all heads."""
        heads = {"head": [parameter for task in self._each() for parameter in task.head.parameters()]}
        return heads if self.options.freeze else {**encoder_groups(self.encoder), **heads}

    def before_step(self, step: int) -> None:
        """Encode all rows before the first step if the encoder is frozen."""
        for task in self._each() if self.options.freeze else ():
            task.fill(self._model[0])

    def encode(self, batch: Batch) -> Encoded:
        """Vectors of the rows of each task, by task name."""
        vectors = {}
        for place, task in enumerate(self._each()):
            own, every = (draw["rows"][draw["task"] == place] for draw in (batch.draw, batch.whole))
            if not len(every):
                continue
            # Processes use the same modules in every step; without a row of the task, one that `gather` leaves out.
            rows = own if len(own) else every[:1]
            if self.options.freeze:
                vectors[task.name] = task.frozen(self._model[0], rows)
            else:
                vectors[task.name] = task.rows.vectors(self.encoder(batch.put(task.rows.features(rows))))
        return vectors

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The weighted mean of the losses of the tasks in the batch of all processes."""
        losses, scalars = [], {}
        for place, task in enumerate(self._each()):
            if task.name not in encoded:
                continue
            rows = batch.whole["rows"][batch.whole["task"] == place]
            values = batch.tensor(task.loss.values(task.data.values[rows]))
            logits = batch.gather(task.head(encoded[task.name]), of=batch.whole["task"] == place)
            own: Tensor = task.loss(logits, values, batch.weights(task.data.weights, rows))
            losses.append(task.settings.weight * own)
            scalars[task.name] = own.detach()
        return StepOutput(torch.stack(losses).sum() / self._divisor(batch), scalars)

    def _divisor(self, batch: Batch) -> float:
        """The divisor of the sum of the weighted losses of all tasks in the batch."""
        weights = [task.settings.weight for place, task in enumerate(self._each()) if place in batch.whole["task"]]
        # With one task per step its weight scales the loss; with several, the loss is their weighted mean.
        return sum(weights) if len(weights) > 1 or self.options.mix == "union" else 1.0

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
        """A batch of each task, of one task on average, or of all rows together."""
        each = [(len(task.data.train), task.rows.index.shape[1]) for task in self._each()]
        if self.options.mix == "union":
            return float(sum(rows * texts for rows, texts in each) / len(self._batches) * self.options.accumulate)
        sizes = [min(self.options.batch_size, rows) * texts for rows, texts in each]
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
        if self.options.mix == "union":
            return [f"{self.name}: each step trains on rows of all tasks, shuffled together: {drawn}"]
        return [f"{self.name}: each step trains one task: {drawn}"]
