"""What a recipe may say about a multitask phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from phasefit.data.task_file import TABLE, TaskFile, TaskSpec
from phasefit.errors import DataError, RecipeError, did_you_mean
from phasefit.metrics.registry import MEAN, METRICS, watchable
from phasefit.phases.finetune.options import HeadSettings
from phasefit.phases.options import PhaseOptions


class TaskSettings(HeadSettings):
    """What a task file may say about the head of a task."""

    weight: float = Field(1.0, gt=0, description="what the task's loss counts for")
    watch: str = Field("auto", description="the task's own metric; auto: accuracy, micro F1 of several labels, pearson")

    def watched(self, where: str, kind: str) -> str:
        """The metric that a task with labels of this kind is judged by."""
        from phasefit.kinds import kind_named

        labels = kind_named(kind)
        watch = labels.judged if self.watch == "auto" else labels.check_watch(self.watch, where)
        if not METRICS[watch].higher_is_better:
            raise RecipeError(
                f"{where}: '{watch}' falls as it gets better, and cannot be part of a mean; watch another"
            )
        return watch

    @field_validator("watch")
    @classmethod
    def _known(cls, value: str) -> str:
        watchable(value)
        return value


class Options(PhaseOptions):
    """Options of `kind = "multitask"`."""

    implementation = "phasefit.phases.multitask.phase:Multitask"
    parts = ("encoder", "dense", "head")
    trains_head = True
    kind: Literal["multitask"] = "multitask"
    mix: Literal["sequential", "round_robin", "uniform", "proportional", "temperature", "mixed"] = Field(
        "proportional",
        description="which task a step is about: all of one then all of the next, in turn, at random, at random by "
        "their batches (MT-DNN), by a root of their batches, or all in every step",
    )
    order: list[str] = Field(
        default_factory=list, description="of sequential: the tasks of an epoch, some perhaps more than once"
    )
    temperature: float = Field(2.0, gt=0, description="of mix = temperature: 1 is proportional, the higher the evener")
    shared: bool = Field(False, description="a layer that all heads share, behind the encoder")
    freeze: bool = Field(False, description="train the heads only: each task is fine-tuned without harm to the others")
    tasks: dict[str, TaskSettings] = Field(
        default_factory=dict, description="what the task file says about each task's head; changed by --set too"
    )

    @property
    def needs(self) -> Literal["tasks"]:
        """A task file."""
        return "tasks"

    @property
    def watch(self) -> str:
        """The mean of the tasks' own metrics."""
        return MEAN

    @property
    def skips_parameters(self) -> bool:
        """A step leaves the heads of other tasks alone."""
        return True

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """The tasks that are named, and what each says about its head."""
        for task in (*self.order, *self.tasks):
            if task not in kinds:
                raise RecipeError(f"{where}: there is no task '{task}'; {did_you_mean(task, kinds)}")
        for task, settings in self.tasks.items():
            settings.check_kind(f"{where}, task '{task}'", kinds[task])
            settings.watched(f"{where}, task '{task}'", kinds[task])

    def heads(self) -> Mapping[str, HeadSettings]:
        """One for each task that is spoken of."""
        return self.tasks

    def watched_tasks(self) -> Mapping[str, str]:
        """Each task has its own."""
        return {name: settings.watch for name, settings in self.tasks.items()}

    def with_tasks(self, file: TaskFile) -> Self:
        """All heads of the task file, and the shared layer."""
        heads = {spec.name: self._with_task(file, spec) for spec in file.tasks}
        others = {name: settings for name, settings in self.tasks.items() if name not in heads}
        shared = self.shared or (file.shared and not self.freeze)
        return self.model_copy(update={"tasks": {**heads, **others}, "shared": shared})

    def _with_task(self, file: TaskFile, spec: TaskSpec) -> TaskSettings:
        usual = {} if file.dropout is None else {"dropout": file.dropout}
        own = self.tasks[spec.name].model_dump(exclude_unset=True) if spec.name in self.tasks else {}
        try:
            return TaskSettings(**{**usual, **spec.head, **own})
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "extra_forbidden":
                name, known = str(first["loc"][0]), (*TABLE, *TaskSettings.model_fields)
                problem = f"unknown option '{name}'; {did_you_mean(name, known)}"
            else:
                problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise DataError(f"{file.name}, task '{spec.name}': {problem}") from None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.order and self.mix != "sequential":
            raise ValueError(f"order is for mix = 'sequential', not '{self.mix}'; leave one of them out")
        if self.freeze and self.shared:
            raise ValueError("freeze = true leaves the shared layer as it is; leave one of them out")
        return self
