"""What a recipe may say about simcse, mirror and mnr phases, and what they share."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.options import ChunkOptions, PhaseOptions, Strict, ViewList


class ViewSettings(Strict):
    """How the second view of a text comes to differ from the first."""

    dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout of the encoder in this phase; left out: the encoder's own"
    )
    views: ViewList = Field(
        default_factory=list,
        description='changes of the second view, e.g. ["delete-words", { name = "mask-span", characters = 5 }]',
    )


class InBatchOptions(PhaseOptions, ChunkOptions):
    """Options of all three; the objective has a default in each."""

    parts: ClassVar[tuple[str, ...]] = ("encoder", "dense")
    objective: str | dict[str, Any] = Field(description='a name, or { name = "info-nce", temperature = 0.05 }')
    watch: Literal["auto", "probe", "loss"] = Field(
        "auto",
        description="probe: a linear probe's macro F1; loss: the objective on validation rows; auto: the loss for "
        "pairs, for texts the probe where there are labels",
    )

    @model_validator(mode="after")
    def _one_dropout(self) -> Self:
        if self.encoder_dropout is not None and "dropout" in type(self).model_fields:
            raise ValueError("'encoder_dropout' is called 'dropout' in this phase, where it makes two views differ")
        return self

    def check(self, where: str) -> None:
        """The objective, and the views if there are any."""
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
        description='a name, or { name = "info-nce", temperature = 0.05 }',
    )
    supervised: bool = Field(
        False, description="learn from a table of pairs, or of triples with a hard negative, instead of texts alone"
    )
    hard_negatives: bool = Field(True, description="use the third text of a row where there is one (supervised)")
    projection: bool | None = Field(
        None,
        description="a layer with Tanh behind the vectors, dropped at the end; left out: yes unless supervised",
    )

    @model_validator(mode="after")
    def _views_of_one_text(self) -> Self:
        if self.supervised and self.views:
            raise ValueError("supervised = true takes the second text from the table; leave 'views' out")
        return self

    @property
    def projects(self) -> bool:
        """Whether there is a projection."""
        return not self.supervised if self.projection is None else self.projection

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Labels are never looked at."""
        return "pairs" if self.supervised else "texts"


class MirrorOptions(InBatchOptions, ViewSettings):
    """Options of `kind = "mirror"`."""

    implementation = "phasefit.phases.in_batch_negatives.mirror:Mirror"
    kind: Literal["mirror"] = "mirror"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "nt-xent", "temperature": 0.04},
        description='a name, or { name = "nt-xent", temperature = 0.04, pull = false } for negatives alone',
    )
    span: int = Field(5, ge=0, description="characters of the one span that is masked in the second view; 0: none")
    min_characters: int = Field(30, ge=0, description="texts with fewer characters are not masked")
    drop_head: float = Field(
        0.0, ge=0, lt=1, description="probability that an attention head is dropped, instead of dropout: that is then 0"
    )
    random_strings: bool = Field(
        False, description="train on random letters in the place of every word, as a probe of what texts are needed for"
    )

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Labels are never looked at."""
        return "texts"


class MNROptions(InBatchOptions):
    """Options of `kind = "mnr"`."""

    implementation = "phasefit.phases.in_batch_negatives.mnr:MNR"
    kind: Literal["mnr"] = "mnr"
    objective: str | dict[str, Any] = Field(
        default_factory=lambda: {"name": "multiple-negatives", "temperature": 0.05},
        description='a name, or { name = "multiple-negatives", temperature = 0.05, directions = "both" }',
    )
    hard_negatives: bool = Field(True, description="use the third text of a row where there is one")

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Two texts in a row, or three."""
        return "pairs"
