"""Options that every phase has: how long, how fast, how it is watched. Imports no torch, nor does reading a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from phasefit.errors import PluginError, did_you_mean

if TYPE_CHECKING:
    from phasefit.data.task_file import TaskFile
    from phasefit.phases.contract import Phase
    from phasefit.phases.finetune.options import HeadSettings


class Strict(BaseModel):
    """Unknown options and endless numbers are errors; values do not change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PhaseOptions(Strict):
    """The options of a phase, with its own added by each kind."""

    implementation: ClassVar[str]  # the class of the step, "module:attribute"
    parts: ClassVar[tuple[str, ...]] = ("encoder", "dense")  # what `lrs` may name
    trains_head: ClassVar[bool] = False  # whether a classifier comes out of it
    grows_head: ClassVar[bool] = False  # whether it adds new classes to the head of a run that is trained further

    kind: str
    epochs: float = Field(1.0, gt=0, description="how often every row is seen")
    min_steps: int = Field(1, ge=1, description="at least so many steps, however few the rows")
    max_steps: int | None = Field(None, ge=1, description="at most so many steps, however many the rows; wins over all")
    batch_size: int = Field(32, ge=2, description="texts (or explicit pairs) per step")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are added up for one step")
    lr: float = Field(5e-5, gt=0, description="learning rate")
    lrs: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict, description="learning rates of single parts, e.g. { head = 1e-3 }"
    )
    layer_decay: float = Field(
        1.0, gt=0, le=1, description="each Transformer layer learns at this share of the rate of the one above it"
    )
    schedule: Literal["linear", "cosine", "constant"] = Field("linear", description="how the learning rate falls")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps in which the learning rate rises")
    weight_decay: float = Field(0.01, ge=0, description="of weight matrices, not of biases and norms")
    eps: float = Field(1e-8, gt=0, description="AdamW's epsilon")
    clip: float = Field(1.0, ge=0, description="largest gradient norm; 0 switches clipping off")
    encoder_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout inside the Transformer while it learns; 0 is a tenth faster"
    )
    freeze_words: bool = Field(
        False, description="word vectors stay as they are: half the default model's weights, so that steps are faster"
    )
    frozen_layers: int = Field(
        0, ge=0, description="so many of the lowest Transformer layers, and what lies below, stay as they are"
    )
    evaluate_every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="steps between two looks at the score; auto: an epoch or 500 steps, but at most 40 looks in all",
    )
    patience: int = Field(4, ge=0, description="looks without improvement before the phase stops; 0 never stops early")

    @classmethod
    def phase_class(cls) -> type[Phase]:
        """What a step of this kind is; imports torch."""
        try:
            chosen: type[Phase] = resolve_name(cls.implementation)
        except (ImportError, AttributeError) as error:  # a plugin names a class that there is not
            where = f"{cls.__module__}.{cls.__name__}"
            raise PluginError(f"{where}: the class of the phase cannot be loaded: {error}") from error
        return chosen

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """What the training rows must have: a text is enough, or a label with it, or other texts beside it."""
        return "labels"

    @property
    def takes_pairs(self) -> bool:
        """Whether rows may be pairs of texts with a label for both."""
        return False

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Refuse what cannot be done with labels of these kinds, by task; one table is one task without a name."""

    @property
    def skips_parameters(self) -> bool:
        """Whether some steps leave some parameters without gradient, which distributed training must be told."""
        return False

    @field_validator("lrs")
    @classmethod
    def _known_parts(cls, value: dict[str, float]) -> dict[str, float]:
        for part in value:
            if part not in cls.parts:
                raise ValueError(f"unknown part '{part}'; {did_you_mean(part, cls.parts)}")
        return value

    def check(self, where: str) -> None:
        """Refuse, before anything is trained, what reading alone cannot see; may import torch and read files."""

    @property
    def makes_texts(self) -> bool:
        """Whether it leaves a decoder behind that later phases can make texts with."""
        return False

    def check_order(self, where: str, before: Sequence[PhaseOptions]) -> None:
        """Refuse, while a recipe is read, to come after these phases where one is missing that it builds on."""

    def files(self) -> list[Path]:
        """The files that its options name: what they hold is part of what the recipe says."""
        return []

    def check_files(self, where: str) -> None:
        """Refuse files that cannot be used, before the data are read; imports no torch."""

    def heads(self) -> Mapping[str, HeadSettings]:
        """What it says about the heads that it trains, by task; the head of a single table has the name ""."""
        return {}

    def with_tasks(self, file: TaskFile) -> Self:
        """The same options with what a task file says about heads; what the recipe or --set says about one wins."""
        return self

    def watched_tasks(self) -> Mapping[str, str]:
        """What each task is judged by, `auto` where nobody says."""
        return {}


class ChunkOptions(Strict):
    """For phases whose loss compares the texts of a batch: the more the better, and memory need not follow."""

    chunk: int | None = Field(
        None, ge=2, description="texts encoded at once; the loss still sees the whole batch, at the memory of a chunk"
    )


def _as_list(views: Any) -> Any:
    return [views] if isinstance(views, str | dict) else views


ViewList: TypeAlias = Annotated[list[str | dict[str, Any]], BeforeValidator(_as_list)]
"""Each a name, or a table with `name` and the view's own options."""
