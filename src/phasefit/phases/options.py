"""Options that every phase has. Neither this module nor reading a recipe imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from phasefit.errors import PluginError, RecipeError, did_you_mean

if TYPE_CHECKING:
    from phasefit.data.labels import LabelSpace
    from phasefit.data.task_file import TaskFile
    from phasefit.phases.contract import Phase
    from phasefit.phases.finetune.options import HeadSettings


SMALL_TABLE = 500  # training rows, for `small_table_batch`
FEWEST_TEXTS = 2  # of a batch


class Strict(BaseModel):
    """Rejects unknown options and infinite or NaN numbers; values are read-only."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PhaseOptions(Strict):
    """The options that all kinds of phases share; each kind adds its own."""

    implementation: ClassVar[str]  # the class of the phase, "module:attribute"
    parts: ClassVar[tuple[str, ...]] = ("encoder", "dense")  # parts that `lrs` may name
    trains_head: ClassVar[bool] = False  # whether the result has a trained head
    grows_head: ClassVar[bool] = False  # whether it can extend the head of an earlier run to new classes
    weighs_rows: ClassVar[bool] = False  # whether its loss uses the weights of rows (`sample_weight`)

    kind: str
    epochs: float = Field(1.0, gt=0, description="number of passes over the training rows; may be a fraction")
    min_steps: int = Field(1, ge=1, description="minimum number of steps, for small tables")
    max_steps: int | None = Field(None, ge=1, description="maximum number of steps; overrides epochs and min_steps")
    batch_size: int = Field(32, ge=FEWEST_TEXTS, description="texts or pairs per batch")
    small_table_batch: float = Field(
        1.0,
        gt=0,
        le=1,
        description="share of batch_size that is used for tables of up to 500 training rows; 0.2 in the code of the "
        "three-phase paper",
    )
    accumulate: int = Field(1, ge=1, description="number of batches per step; their gradients are averaged")
    lr: float = Field(5e-5, gt=0, description="learning rate")
    lrs: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict, description="learning rates of single parts, e.g. { head = 1e-3 }"
    )
    layer_decay: float = Field(
        1.0, gt=0, le=1, description="learning rate of each Transformer layer, as a fraction of that of the layer above"
    )
    schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear", description="how the learning rate falls after the warmup"
    )
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps in which the learning rate rises from 0")
    weight_decay: float = Field(
        0.01, ge=0, description="weight decay of AdamW, for weight matrices only, not for biases and norms"
    )
    eps: float = Field(1e-8, gt=0, description="epsilon of AdamW")
    clip: float = Field(1.0, ge=0, description="maximum gradient norm; 0: no clipping")
    encoder_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout inside the Transformer; 0 is about 10% faster; default: the model's own"
    )
    freeze_words: bool = Field(
        False,
        description="do not train the word embeddings, half of the weights of the default model; makes steps faster",
    )
    frozen_layers: int = Field(0, ge=0, description="do not train the N lowest Transformer layers and the embeddings")
    evaluate_every: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto",
        description="steps between evaluations; auto: every epoch or 500 steps, with at most 40 evaluations, or fewer "
        "(see evaluation_share)",
    )
    evaluation_share: float = Field(
        0.2,
        gt=0,
        le=1,
        description="largest share of the work of a phase that evaluations may take; if needed, they use a fixed "
        "sample of the rows and are less frequent; 1: always all rows",
    )
    patience: int = Field(
        4, ge=0, description="evaluations without improvement before the phase stops; 0: never stop early"
    )
    skip_at: float | None = Field(
        None,
        ge=0,
        le=1,
        description="skip the phase if its watched score before the first step is at least this, e.g. 0.99; for "
        "scores of which higher is better; default: never",
    )
    average: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="average the weights of the last steps: this share of all steps, e.g. 0.3; with validation rows, "
        "only if the average scores at least as high as the best weights; 0: no average",
    )
    soup: int = Field(
        1,
        ge=1,
        description="train this many times from the same weights, each time with other batches, and average the "
        "results (Wortsman et al., 2022); epochs, min_steps and max_steps are those of one training; evaluated only "
        "at the end",
    )
    blend: Annotated[float, Field(ge=0, le=1)] | Literal["auto"] = Field(
        1.0,
        description="share of the trained weights in the encoder that the phase leaves; the rest are its weights from "
        "before the phase; 1: only trained weights; auto: chosen on the validation rows",
    )

    @classmethod
    def phase_class(cls) -> type[Phase]:
        """Load the class of the phase; imports torch."""
        try:
            chosen: type[Phase] = resolve_name(cls.implementation)
        except (ImportError, AttributeError) as error:  # a plugin names a class that does not exist
            where = f"{cls.__module__}.{cls.__name__}"
            raise PluginError(f"{where}: the class of the phase cannot be loaded: {error}") from error
        return chosen

    def for_rows(self, rows: int) -> Self:
        """The options for a table with this many training rows: its batch size is final."""
        if self.small_table_batch == 1:
            return self
        share = self.small_table_batch if rows <= SMALL_TABLE else 1.0
        size = max(int(share * self.batch_size), FEWEST_TEXTS)
        return self.model_copy(update={"batch_size": size, "small_table_batch": 1.0})

    @property
    def adds_random_layer(self) -> bool:
        """Whether it adds a layer with random weights to the encoder."""
        return False

    @property
    def trains_head_and_encoder(self) -> bool:
        """Whether it trains a head together with the encoder, so that each fits only the other."""
        return self.trains_head and not getattr(self, "freeze", False)

    @model_validator(mode="after")
    def _can_blend(self) -> Self:
        if self.blend == 1:
            return self
        if self.adds_random_layer:
            raise ValueError(
                "dense = 'paper' starts as a random layer, and averaging with random weights makes no sense; remove "
                "blend, or use dense = 'identity'"
            )
        if self.makes_texts:
            raise ValueError("blend would separate the encoder from the decoder that generates texts; remove blend")
        if getattr(self, "freeze", False):
            raise ValueError("freeze = true does not train the encoder, so 'blend' has no effect; remove it")
        if self.trains_head_and_encoder and self.blend != "auto":
            raise ValueError(
                "the head is trained for the trained encoder, so a fixed blend may harm it; use blend = 'auto', which "
                "compares shares on the validation rows, or set blend in an earlier phase"
            )
        return self

    @model_validator(mode="after")
    def _can_average_trainings(self) -> Self:
        if self.soup > 1 and self.average:
            raise ValueError("soup averages whole trainings and average the steps of one; set soup = 1 or average = 0")
        if self.soup > 1 and self.kind == "self-train":
            raise ValueError("self-training consists of several trainings itself; remove soup")
        return self

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """What the training rows must have: only texts, labels, pairs of texts, or several tasks."""
        return "labels"

    @property
    def uses_unlabelled(self) -> bool:
        """Whether it also trains on the texts of an unlabelled table."""
        return self.needs == "texts"

    @property
    def needs_unlabelled(self) -> bool:
        """Whether it cannot do without unlabelled texts."""
        return False

    @property
    def takes_pairs(self) -> bool:
        """Whether rows may be labelled pairs of texts."""
        return False

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Raise if the options do not work with these kinds of labels, by task; a single table is the task ""."""

    @property
    def skips_parameters(self) -> bool:
        """Whether some steps leave parameters without gradient, which distributed training needs to know."""
        return False

    @property
    def not_sharded(self) -> str | None:
        """The option that excludes fully sharded training (FSDP), for a message; None: none does."""
        return next((f"option '{name}'" for name in ("chunk", "freeze") if getattr(self, name, None)), None)

    @field_validator("lrs")
    @classmethod
    def _known_parts(cls, value: dict[str, float]) -> dict[str, float]:
        for part in value:
            if part not in cls.parts:
                raise ValueError(f"unknown part '{part}'; {did_you_mean(part, cls.parts)}")
        return value

    def check(self, where: str) -> None:
        """Raise, before training, for errors that reading does not detect; may import torch and read files."""

    def check_row_weights(self, where: str) -> None:
        """Raise, before training, if the phase or its objective cannot use the weights of rows; may import torch."""
        from phasefit.phases.objective_option import check_row_weights

        if not self.weighs_rows:
            raise RecipeError(f"{where}: the phase '{self.kind}' does not support sample_weight; use another recipe")
        check_row_weights(where, getattr(self, "objective", None))

    @property
    def makes_texts(self) -> bool:
        """Whether it trains a decoder with which later phases can generate texts."""
        return False

    def check_order(self, where: str, before: Sequence[PhaseOptions]) -> None:
        """Raise, when a recipe is read, if a phase that it depends on is not among the earlier ones (`before`)."""

    def files(self) -> list[Path]:
        """The files that its options name; their content is part of the recipe."""
        return []

    def check_files(self, where: str) -> None:
        """Raise, before the data are read, if a file cannot be used; imports no torch."""

    def check_classes(self, where: str, space: LabelSpace) -> None:
        """Raise, before training, if texts or files that its options name do not fit the classes."""

    def heads(self) -> Mapping[str, HeadSettings]:
        """Options of the heads it trains, by task; the head of a single table has the name ""."""
        return {}

    def with_tasks(self, file: TaskFile) -> Self:
        """The options with the heads of a task file; the recipe and --set override the task file."""
        return self

    def watched_tasks(self) -> Mapping[str, str]:
        """The watched metric of each task; `auto` if not set."""
        return {}


class ChunkOptions(Strict):
    """Option of phases whose loss compares the texts of a batch: large batches with limited memory."""

    chunk: int | None = Field(
        None,
        ge=2,
        description="rows encoded at once, to limit memory; the loss still uses the whole batch; default: all",
    )


class ClassTextChecks:
    """The file and the checks of the option `class_texts`, for phases that have it."""

    if TYPE_CHECKING:
        class_texts: str

    def files(self) -> list[Path]:
        """The file of class texts."""
        return [path] if (path := Path(self.class_texts)).is_file() else []

    def check_files(self, where: str) -> None:
        """Check the file of class texts."""
        from phasefit.phases.class_texts import read_class_texts

        read_class_texts(self.class_texts, where)

    def check_classes(self, where: str, space: LabelSpace) -> None:
        """Check that the class texts fit the classes."""
        from phasefit.phases.class_texts import check_class_texts

        check_class_texts(self.class_texts, space, where)


def _as_list(views: Any) -> Any:
    return [views] if isinstance(views, str | dict) else views


ViewList: TypeAlias = Annotated[list[str | dict[str, Any]], BeforeValidator(_as_list)]
"""Each item is a name, or a table with `name` and the options of the view."""
