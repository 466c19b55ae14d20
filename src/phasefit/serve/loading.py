"""Models by name: reading the arguments of the command, loading, and reloading while requests are answered."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from phasefit.data.labels import LabelSpace
from phasefit.errors import ModelError
from phasefit.files.manifest import EXPORT, MANIFEST
from phasefit.kinds import LabelKind, kind_of
from phasefit.models.predictor import TASK, Predictor
from phasefit.serve.engines import NO_LIMIT, Engine, engine_of
from phasefit.serve.limits import Limits
from phasefit.serve.refusals import Refusal, invalid

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
Load: TypeAlias = Callable[[Path], Predictor]
ReadTraining: TypeAlias = Callable[[Path, Predictor], Mapping[str, Any]]


def named_paths(arguments: Sequence[str]) -> dict[str, Path]:
    """The folder of each model from `NAME=PATH` or `PATH`; raises for unusable and repeated names."""
    paths: dict[str, Path] = {}
    for argument in arguments:
        name, equals, given = argument.partition("=")
        if not equals or Path(argument).expanduser().exists():  # a folder may have = in its name
            given = argument
            name = Path(argument).expanduser().resolve().name
        if not NAME.fullmatch(name):
            raise ModelError(
                f"'{name}' cannot be the name of a model (letters, digits, '.', '_' and '-' only); choose one with "
                f"NAME={given or 'PATH'}"
            )
        path = Path(given).expanduser()
        if not path.exists():
            raise ModelError(
                f"model '{name}': there is no folder '{given}'; give the folder of a run, a saved model or an export"
            )
        if name in paths:
            raise ModelError(
                f"two models have the name '{name}' ({paths[name]} and {path}); rename one with NAME={given}"
            )
        paths[name] = path
    return paths


def load_predictor(path: Path, device: str = "auto", threads: int | None = None) -> Predictor:
    """Load the model in a folder: a run, a saved model, an exported folder or an encoder.

    All models of the server are loaded here.
    """
    from phasefit.process_memory import bound_primitive_cache
    from phasefit.runs.run import Run

    if not path.is_dir():
        raise ModelError(f"'{path}' is not a folder; give the folder of a run, a saved model or an export")
    bound_primitive_cache()
    if not any((path / name).is_file() for name in (MANIFEST, EXPORT, "modules.json", "config.json")):
        raise ModelError(f"'{path}' contains no model; give the folder of a run, a saved model or an export")
    return Run.open_model(path).predictor(device, threads)


@dataclass(frozen=True)
class ServedModel:
    """A loaded model under its name."""

    name: str
    predictor: Predictor
    training: Mapping[str, Any] = field(default_factory=dict)  # TrainingVectors by task, if they may be shown
    loaded: int = field(default_factory=lambda: int(time.time()))

    @cached_property
    def engine(self) -> Engine:
        """What computes its outputs."""
        return engine_of(self.predictor)

    @property
    def tasks(self) -> list[str]:
        """The names of its tasks; empty for a model that only embeds."""
        return [str(task) for task in self.predictor.heads]

    @cached_property
    def dimension(self) -> int | None:
        """The size of its embeddings, measured with one text; None if it computes none, as TF-IDF."""
        try:
            return int(self.predictor.embed(["size"]).shape[1])
        except ModelError:
            if self.tasks:
                return None
            raise

    def reads_pairs(self, task: str) -> bool:
        """Whether the head of a task reads text pairs."""
        return bool(getattr(self.predictor.head(task), "pair", None))

    @property
    def longest(self) -> int:
        """The most tokens of one input: a text, or both texts of a pair."""
        return self.engine.longest * (2 if any(map(self.reads_pairs, self.tasks)) else 1)


@dataclass(frozen=True)
class Target:
    """A model, and the task that a request asks for; None for embeddings."""

    model: ServedModel
    task: str | None

    @property
    def name(self) -> str:
        """The name that a request uses."""
        return target_name(self.model, self.task)

    @property
    def space(self) -> LabelSpace:
        """The label space of the task."""
        return self.model.predictor.space_of(self.task or TASK)

    @property
    def kind(self) -> LabelKind:
        """The label kind of the task."""
        return kind_of(self.space)

    @property
    def reads_pairs(self) -> bool:
        """Whether inputs are text pairs."""
        return self.task is not None and self.model.reads_pairs(self.task)


def target_name(model: ServedModel, task: str | None) -> str:
    """`name`, or `name/task` if the model has several tasks."""
    return model.name if task is None or len(model.tasks) < 2 else f"{model.name}/{task}"


class Models:
    """The models that are served; `reload` replaces them together or not at all."""

    def __init__(
        self, paths: dict[str, Path], load: Load, limits: Limits, read_training: ReadTraining | None = None
    ) -> None:
        self._paths, self._load, self._limits, self._read_training = paths, load, limits, read_training
        self._models = self._load_all()

    def _load_all(self) -> dict[str, ServedModel]:
        models = {}
        for name, path in self._paths.items():
            predictor = self._load(path)
            training = {} if self._read_training is None else self._read_training(path, predictor)
            model = ServedModel(name, predictor, training)
            if model.longest < NO_LIMIT:
                self._limits.check_longest(name, model.longest)
            _ = model.dimension  # a model that cannot compute is refused now; the first request is quick
            models[name] = model
        return models

    def reload(self) -> None:
        """Load all models again; if one cannot be loaded, all stay as they are and the error is raised."""
        self._models = self._load_all()

    @property
    def all(self) -> list[ServedModel]:
        """The current models; a request keeps its own until it is answered."""
        return list(self._models.values())

    @property
    def names(self) -> list[str]:
        """Every name that a request may use."""
        return [
            name
            for model in self.all
            for name in [model.name, *(target_name(model, task) for task in model.tasks if len(model.tasks) > 1)]
        ]

    def find(self, name: str | None, task: str | None = None) -> tuple[ServedModel, str | None]:
        """The model and task of `name` or `name/task`; without a name, the only model."""
        models = self._models
        if name is None:
            if len(models) > 1:
                raise invalid("model", f"is required, because there are several models: {', '.join(models)}")
            model = next(iter(models.values()))
        else:
            base, slash, after = name.partition("/")
            found = models.get(base)
            if found is None or (slash and after not in found.tasks):
                raise Refusal(
                    404,
                    f"model: there is no model '{name[:200]}'; known: {', '.join(self.names)}",
                    field="model",
                    code="model_not_found",
                )
            model = found
            if slash and task is not None and task != after:
                raise invalid("task", f"contradicts the model '{name}'; remove one of them")
            task = after if slash else task
        if task is not None and task not in model.tasks:
            raise invalid("task", f"model '{model.name}' has no task '{task[:200]}'; known: {', '.join(model.tasks)}")
        return model, task

    def for_prediction(self, name: str | None, task: str | None = None) -> Target:
        """The model and task of a prediction."""
        model, task = self.find(name, task)
        if not model.tasks:
            raise invalid("model", f"model '{model.name}' has no classifier; use POST /v1/embeddings or /embed")
        if task is None and len(model.tasks) > 1:
            known = ", ".join(target_name(model, task) for task in model.tasks)
            raise invalid("model", f"model '{model.name}' has several tasks; use one of {known}")
        return Target(model, task or model.tasks[0])

    def for_embedding(self, name: str | None) -> Target:
        """The model of an embedding; a task is accepted and has no effect."""
        model, _ = self.find(name)
        if model.dimension is None:
            raise invalid("model", f"model '{model.name}' has no encoder and computes no embeddings")
        return Target(model, None)
