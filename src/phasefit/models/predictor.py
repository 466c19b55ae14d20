"""A Predictor: what every trained model can do, whether it has an encoder or not. Imports no torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.data.table import Label
from phasefit.errors import ModelError, did_you_mean
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision

TASK = "default"  # the name of the head of a model with one task
Progress: TypeAlias = Callable[[int], None]


class Predictor(ABC):
    """Named heads with their label spaces and decisions; heads and spaces have the same task names."""

    heads: Any  # a mapping from task names; a head has `pair`, `classes` and `config()`
    spaces: dict[str, LabelSpace]
    decisions: dict[str, Decision]  # of tasks with calibration or thresholds

    @property
    def space(self) -> LabelSpace:
        """The label space of a model with one task."""
        return self.space_of(TASK)

    def space_of(self, task: str) -> LabelSpace:
        """The label space of a task."""
        return self.spaces[self.known_task(task)]

    def known_task(self, task: str | None) -> str:
        """The task with this name; for None or the default name, the only task."""
        if task is not None and task in self.heads:
            return task
        if task in (None, TASK) and len(self.heads) == 1:
            return str(next(iter(self.heads)))
        if not self.heads:
            raise ModelError("this model has no classifier: it only embeds; train one with a finetune phase")
        if task in (None, TASK):
            raise ModelError(f"this model has several tasks; choose one with --task: {', '.join(self.heads)}")
        raise ModelError(f"this model has no task '{task}'; {did_you_mean(str(task), self.heads)}")

    def decision(self, task: str = TASK) -> Decision:
        """The calibration and thresholds of a task."""
        return self.decisions.get(self.known_task(task) if self.heads else task, Decision())

    @abstractmethod
    def head(self, task: str = TASK) -> Any:
        """The head of a task."""

    @abstractmethod
    def predict_outputs(
        self,
        texts: Sequence[str] | Sequence[tuple[str, str]],
        *,
        task: str = TASK,
        batch_size: int = 64,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """A head's outputs for texts or text pairs: (n, classes) probabilities, or (n, 1) scores."""

    def predict_proba(
        self,
        texts: Sequence[str] | Sequence[tuple[str, str]],
        *,
        task: str = TASK,
        batch_size: int = 64,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """Probabilities (n, classes), columns in the order of `space.classes`; with several labels, one for each."""
        if not kind_of(self.space_of(task)).has_classes:
            raise ModelError("this model predicts scores, which have no probabilities; use predict")
        return self.predict_outputs(texts, task=task, batch_size=batch_size, progress=progress)

    def predict(
        self, texts: Sequence[str] | Sequence[tuple[str, str]], *, task: str = TASK, batch_size: int = 64
    ) -> list[Label | None]:
        """For each text, its most probable label (None if withheld), its set of labels, or its score."""
        outputs, space = self.predict_outputs(texts, task=task, batch_size=batch_size), self.space_of(task)
        return kind_of(space).answers(outputs, space, self.decision(task))

    @abstractmethod
    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> np.ndarray:
        """Embeddings (n, d); ModelError if the model has no encoder."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the manifest of a run states about the model."""

    @abstractmethod
    def write(self, folder: Path) -> dict[str, Any]:
        """Write its files. Returns their part of the manifest, which the caller writes last."""
