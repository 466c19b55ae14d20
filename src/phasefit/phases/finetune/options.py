"""What a recipe may say about a finetune phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from phasefit.errors import RecipeError
from phasefit.metrics.registry import watchable
from phasefit.phases.options import ChunkOptions, PhaseOptions, Strict, ViewList


class HeadSettings(Strict):
    """What can be said about a head and its loss, wherever one is trained."""

    head: Literal["mlp", "linear", "cosine"] = Field(
        "mlp", description="two layers (the paper's), one, or one that sees the vector's direction only"
    )
    pair: Literal["uv", "uv_diff_prod", "cosine", "together"] = Field(
        "uv_diff_prod",
        description="of pairs: both vectors, with their difference and product, their cosine alone; or both texts in "
        "one input, in both orders",
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout inside the head")
    class_weights: Literal["none", "balanced"] = Field(
        "none", description="balanced: mistakes on rare classes, or on texts that have a rare label, cost more"
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="share of the target spread over all classes")
    focal: float = Field(
        0.0,
        ge=0,
        description="texts that are predicted right count less, the more the higher; 2 is usual where classes are rare",
    )
    upper_levels: float = Field(
        0.0, ge=0, lt=1, description="of tree labels: the share of the loss that is about the levels above the last"
    )

    def check_kind(self, where: str, kind: str) -> None:
        """Options that mean nothing for these labels are not passed over in silence."""
        from phasefit.kinds import kind_named
        from phasefit.kinds.contract import LOSS_OPTIONS

        for name in LOSS_OPTIONS:
            refusal = kind_named(kind).refusal(name)
            if refusal and getattr(self, name) != type(self).model_fields[name].default:
                raise RecipeError(f"{where}: {refusal}")


class Options(PhaseOptions, ChunkOptions, HeadSettings):
    """Options of `kind = "finetune"`."""

    implementation = "phasefit.phases.finetune.phase:Finetune"
    parts = ("encoder", "dense", "head", "proxies", "weighting")
    trains_head = grows_head = True
    kind: Literal["finetune"] = "finetune"
    freeze: bool = Field(False, description="train the head only; texts are then encoded once")
    ridge: float = Field(
        0.0,
        ge=0,
        description="keeps the head's last layer small: logistic regression's 1/C; where rows are few 0.3 does well",
    )
    objective: str | dict[str, Any] | None = Field(
        None, description='an objective beside cross-entropy: a name, or { name = "supcon", temperature = 0.3 }'
    )
    ce_weight: float = Field(
        0.5, ge=0, le=1, description="what cross-entropy counts for beside an objective, which counts for the rest"
    )
    on: Literal["sentence", "tokens"] = Field(
        "sentence", description="what the objective sees: the text's vector, or all its tokens' states before pooling"
    )
    views: ViewList = Field(
        default_factory=list,
        description='a second view of each text, e.g. ["dropout"] or ["delete-words"]; both are trained on',
    )
    slack: float = Field(
        0.0,
        ge=0,
        description="later weights are kept that score lower by less than so many standard errors of the accuracy",
    )
    watch: str = Field(
        "auto",
        description="validation metric that stops the phase and picks the weights; auto: macro_f1, of scores pearson",
    )

    @property
    def skips_parameters(self) -> bool:
        """A frozen encoder gets no gradient."""
        return self.freeze

    @property
    def takes_pairs(self) -> bool:
        """Views are of single texts; an objective beside the head compares inputs, which must hold both texts."""
        return (self.objective is None or self.pair == "together") and not self.views

    def heads(self) -> Mapping[str, HeadSettings]:
        """That of the only table."""
        return {"": self}

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """The head's loss, and the score to watch."""
        from phasefit.kinds import kind_named

        for kind in kinds.values():
            self.check_kind(where, kind)
            kind_named(kind).check_watch(self.watch, where)

    @field_validator("watch")
    @classmethod
    def _known(cls, value: str) -> str:
        watchable(value)
        return value

    @model_validator(mode="after")
    def _frozen_alone(self) -> Self:
        for name in ("objective", "views", "chunk"):
            if self.freeze and getattr(self, name):
                raise ValueError(f"freeze = true trains nothing that '{name}' could act on; leave one of them out")
        still = ("layer_decay", "encoder_dropout", "freeze_words", "frozen_layers")
        idle = [name for name in still if getattr(self, name) != type(self).model_fields[name].default]
        if self.freeze and idle:
            raise ValueError(
                f"freeze = true leaves the whole encoder as it is, so '{idle[0]}' does nothing; leave it out"
            )
        if self.on == "tokens" and self.objective is None:
            raise ValueError("on = 'tokens' says what an objective sees; give the objective")
        return self

    def check(self, where: str) -> None:
        """The objective and the views."""
        from phasefit.models.views import build_views
        from phasefit.phases.objective_option import build_objective, check_input

        build_views(where, self.views)
        if self.objective is not None:
            objective = build_objective(where, self.objective)
            check_input(where, objective, "tokens" if self.on == "tokens" else "labelled")
