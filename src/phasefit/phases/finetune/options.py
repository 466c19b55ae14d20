"""What a recipe may say about a finetune phase."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from phasefit.metrics.scores import watchable
from phasefit.phases.options import PhaseOptions


class Options(PhaseOptions):
    """Options of `kind = "finetune"`."""

    parts = ("encoder", "dense", "head")
    trains_head = True
    kind: Literal["finetune"] = "finetune"
    head: Literal["mlp", "linear"] = Field("mlp", description="two layers (the paper's) or one")
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout inside the head")
    freeze: bool = Field(False, description="train the head only; texts are then encoded once")
    class_weights: Literal["none", "balanced"] = Field(
        "none", description="balanced: mistakes on rare classes cost more"
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="share of the target spread over all classes")
    slack: float = Field(
        0.0,
        ge=0,
        description="later weights are kept that score lower by less than so many standard errors of the accuracy",
    )
    watch: str = Field("macro_f1", description="validation metric that stops the phase and picks the weights")

    @property
    def skips_parameters(self) -> bool:
        """A frozen encoder gets no gradient."""
        return self.freeze

    @field_validator("watch")
    @classmethod
    def _known(cls, value: str) -> str:
        watchable(value)
        return value
