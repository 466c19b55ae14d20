"""Options of the multitask phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from phasefit.data.task_file import TABLE, TaskFile, TaskSpec
from phasefit.errors import DataError, RecipeError, constraint, did_you_mean
from phasefit.metrics.registry import MEAN, METRICS, watchable
from phasefit.phases.finetune.options import HeadSettings
from phasefit.phases.options import PhaseOptions


class TaskSettings(HeadSettings):
    """Options of one task; a task file may set them."""

    weight: float = Field(1.0, gt=0, description="weight of the loss of the task")
    watch: str = Field(
        "auto", description="validation metric of the task; auto: accuracy; multi-label: micro F1; scores: pearson"
    )

    def watched(self, where: str, kind: str) -> str:
        """The validation metric for labels of this kind; raise if it does not apply."""
        from phasefit.kinds import kind_named

        labels = kind_named(kind)
        watch = labels.judged if self.watch == "auto" else labels.check_watch(self.watch, where)
        if not METRICS[watch].higher_is_better:
            raise RecipeError(
                f"{where}: lower is better for '{watch}', so it cannot be averaged with the metrics of other tasks; "
                "choose another metric"
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
    weighs_rows = True
    parts = ("encoder", "dense", "head")
    trains_head = True
    kind: Literal["multitask"] = "multitask"
    mix: Literal["sequential", "round_robin", "uniform", "proportional", "temperature", "mixed", "union"] = Field(
        "proportional",
        description="which task a step trains; sequential: one task after the other; round_robin: in turn; uniform: at "
        "random; proportional: at random by number of batches (MT-DNN); temperature: by a root of it; mixed: all tasks "
        "in every step, a batch of each; union: rows of any tasks, shuffled together",
    )
    order: list[str] = Field(
        default_factory=list, description="mix = sequential: the tasks of an epoch in order; a task may be repeated"
    )
    temperature: float = Field(2.0, gt=0, description="mix = temperature: 1 is proportional, higher is more uniform")
    shared: bool = Field(False, description="add a dense layer after the encoder, shared by all heads")
    freeze: bool = Field(False, description="train only the heads, so that the tasks do not affect each other")
    tasks: dict[str, TaskSettings] = Field(
        default_factory=dict, description="options of each task, from the task file or from --set"
    )

    @property
    def needs(self) -> Literal["tasks"]:
        """Several tasks."""
        return "tasks"

    @property
    def watch(self) -> str:
        """The mean of the metrics of all tasks."""
        return MEAN

    @property
    def skips_parameters(self) -> bool:
        """True: a step may skip the heads of other tasks."""
        return True

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Check the names of the tasks, and the options of each."""
        for task in (*self.order, *self.tasks):
            if task not in kinds:
                raise RecipeError(f"{where}: there is no task '{task}'; {did_you_mean(task, kinds)}")
        for task, settings in self.tasks.items():
            settings.check_kind(f"{where}, task '{task}'", kinds[task])
            settings.watched(f"{where}, task '{task}'", kinds[task])

    def heads(self) -> Mapping[str, HeadSettings]:
        """The options of each task that has any."""
        return self.tasks

    def watched_tasks(self) -> Mapping[str, str]:
        """The watched metric of each task."""
        return {name: settings.watch for name, settings in self.tasks.items()}

    def with_tasks(self, file: TaskFile) -> Self:
        """The options with those of the task file."""
        heads = {spec.name: self._with_task(file, spec) for spec in file.tasks}
        others = {name: settings for name, settings in self.tasks.items() if name not in heads}
        shared = self.shared or (file.shared and not self.freeze)
        return self.model_copy(update={"tasks": {**heads, **others}, "shared": shared})

    def _with_task(self, file: TaskFile, spec: TaskSpec) -> TaskSettings:
        defaults = {} if file.dropout is None else {"dropout": file.dropout}
        own = self.tasks[spec.name].model_dump(exclude_unset=True) if spec.name in self.tasks else {}
        try:
            return TaskSettings(**{**defaults, **spec.head, **own})
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "extra_forbidden":
                name, known = str(first["loc"][0]), (*TABLE, *TaskSettings.model_fields)
                problem = f"unknown option '{name}'; {did_you_mean(name, known)}"
            else:
                problem = f"{'.'.join(map(str, first['loc']))}: {constraint(first['msg'])}"
            raise DataError(f"{file.name}, task '{spec.name}': {problem}") from None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.order and self.mix != "sequential":
            raise ValueError(f"order needs mix = 'sequential', not '{self.mix}'; change mix or remove order")
        if self.freeze and self.shared:
            raise ValueError("freeze = true does not train the shared layer; remove freeze or shared")
        return self
