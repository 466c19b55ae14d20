"""Options of the simcse, mirror and mnr phases."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.options import ChunkOptions, PhaseOptions, Strict, ViewList


class ViewSettings(Strict):
    """How the second view of a text differs from the first."""

    dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout of the encoder in this phase; default: the encoder's own"
    )
    views: ViewList = Field(
        default_factory=list,
        description='changes to the second view, e.g. ["delete-words", { name = "mask-span", characters = 5 }]',
    )


class InBatchOptions(PhaseOptions, ChunkOptions):
    """Options that all three phases share; each has its own default objective."""

    parts: ClassVar[tuple[str, ...]] = ("encoder", "dense")
    weighs_rows = True
    objective: str | dict[str, Any] = Field(
        description='name of an objective, or { name = "info-nce", temperature = 0.05 }'
    )
    watch: Literal["auto", "probe", "loss"] = Field(
        "auto",
        description="score that selects the weights; probe: macro F1 of a linear probe; loss: the objective on "
        "validation rows; auto: loss for pairs, and for texts probe if there are labels",
    )

    @model_validator(mode="after")
    def _one_dropout(self) -> Self:
        if self.encoder_dropout is not None and "dropout" in type(self).model_fields:
            raise ValueError(
                "'encoder_dropout' is not used in this phase; use 'dropout', which makes the two views differ"
            )
        return self

    def check(self, where: str) -> None:
        """Check the objective and the views."""
        from phasefit.models.views import build_views
        from phasefit.phases.objective_option import build_objective, check_input

        check_input(where, build_objective(where, self.objective), "views")
        build_views(where, getattr(self, "views", ()))


class SimCSEOptions(InBatchOptions, ViewSettings):
    """Options of `kind = "simcse"`."""

    implementation = "phasefit.phases.in_batch_negatives.simcse:SimCSE"
    parts = ("encoder", "dense", "projection")
    kind: Literal["simcse"] = "simcse"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "info-nce", "temperature": 0.05},
        description='name of an objective, or { name = "info-nce", temperature = 0.05 }',
    )
    supervised: bool = Field(
        False, description="train on pairs, or triples with a hard negative, instead of single texts"
    )
    hard_negatives: bool = Field(
        True, description="use the third text of each row as a hard negative, if there is one (supervised)"
    )
    projection: bool | None = Field(
        None,
        description="train with a dense layer and Tanh on top of the vectors, discarded after the phase; default: only "
        "if not supervised",
    )

    @model_validator(mode="after")
    def _views_of_one_text(self) -> Self:
        if self.supervised and self.views:
            raise ValueError("supervised = true uses the second text of the table, so 'views' has no effect; remove it")
        return self

    @property
    def projects(self) -> bool:
        """Whether to train with a projection."""
        return not self.supervised if self.projection is None else self.projection

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Pairs if supervised, otherwise texts; labels are not used."""
        return "pairs" if self.supervised else "texts"


class MirrorOptions(InBatchOptions, ViewSettings):
    """Options of `kind = "mirror"`."""

    implementation = "phasefit.phases.in_batch_negatives.mirror:Mirror"
    kind: Literal["mirror"] = "mirror"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "nt-xent", "temperature": 0.04},
        description='name of an objective, or { name = "nt-xent", temperature = 0.04, pull = false } (negatives only)',
    )
    span: int = Field(5, ge=0, description="characters masked in the second view, in one span; 0: none")
    min_characters: int = Field(30, ge=0, description="texts with fewer characters are not masked")
    drop_head: float = Field(
        0.0, ge=0, lt=1, description="probability that an attention head is dropped; if above 0, dropout is 0"
    )
    random_strings: bool = Field(
        False, description="replace every word with random letters, to measure what is learned without meaning"
    )

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Texts; labels are not used."""
        return "texts"


class MNROptions(InBatchOptions):
    """Options of `kind = "mnr"`."""

    implementation = "phasefit.phases.in_batch_negatives.mnr:MNR"
    kind: Literal["mnr"] = "mnr"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "multiple-negatives", "temperature": 0.05},
        description='name of an objective, or { name = "multiple-negatives", temperature = 0.05, directions = "both" }',
    )
    hard_negatives: bool = Field(True, description="use the third text of each row as a hard negative, if there is one")

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Pairs or triples of texts."""
        return "pairs"
