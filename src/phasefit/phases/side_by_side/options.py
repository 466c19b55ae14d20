"""What a recipe may say about every phase that trains sides against each other."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.options import ChunkOptions, PhaseOptions, Strict
from phasefit.phases.views_option import ViewList


class ViewSettings(Strict):
    """How the second view of a text comes to differ from the first."""

    dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout of the encoder in this phase; left out: the encoder's own"
    )
    views: ViewList = Field(
        default_factory=list,
        description='changes of the second view, e.g. ["delete-words", { name = "mask-span", characters = 5 }]',
    )


class SideBySideOptions(PhaseOptions, ChunkOptions):
    """Options of all of them; the objective has a default in each."""

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
