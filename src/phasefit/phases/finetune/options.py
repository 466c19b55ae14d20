"""Options of the finetune phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from phasefit.errors import RecipeError
from phasefit.metrics.registry import watchable
from phasefit.phases.options import ChunkOptions, ClassTextChecks, PhaseOptions, Strict, ViewList


class HeadSettings(Strict):
    """Options of a head and its loss, for finetune and multitask."""

    head: Literal["mlp", "linear", "cosine", "paper"] = Field(
        "mlp",
        description="mlp: two layers; linear: one layer; cosine: one layer on normalised vectors; paper: two layers "
        "without an activation, the first with 100 outputs, as in the code of the three-phase paper",
    )
    pair: Literal["uv", "uv_diff_prod", "cosine", "together"] = Field(
        "uv_diff_prod",
        description="input of the head for text pairs; uv: both vectors; uv_diff_prod: also their difference and "
        "product; cosine: their cosine; together: both texts encoded as one input, in both orders",
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout inside the head")
    class_weights: Literal["none", "balanced"] = Field(
        "none", description="balanced: errors on rare classes or labels have a higher weight"
    )
    label_smoothing: float = Field(0.0, ge=0, lt=1, description="share of the target that is spread over all classes")
    focal: float = Field(
        0.0,
        ge=0,
        description="gamma of the focal loss, which lowers the weight of easy texts; 2 is common for rare classes",
    )
    upper_levels: float = Field(
        0.0, ge=0, lt=1, description="tree labels: share of the loss for the levels above the last"
    )

    def check_kind(self, where: str, kind: str) -> None:
        """Raise if an option that does not apply to labels of this kind is set."""
        from phasefit.kinds import kind_named
        from phasefit.kinds.contract import LOSS_OPTIONS

        for name in LOSS_OPTIONS:
            refusal = kind_named(kind).refusal(name)
            if refusal and getattr(self, name) != type(self).model_fields[name].default:
                raise RecipeError(f"{where}: {refusal}")


class Options(ClassTextChecks, PhaseOptions, ChunkOptions, HeadSettings):
    """Options of `kind = "finetune"`."""

    implementation = "phasefit.phases.finetune.phase:Finetune"
    weighs_rows = True
    parts = ("encoder", "dense", "head", "proxies", "weighting")
    trains_head = grows_head = True
    kind: Literal["finetune"] = "finetune"
    freeze: bool = Field(False, description="train only the head; each text is encoded once")
    solve: bool = Field(
        False,
        description="solve the head instead of training it: logistic regression on the vectors of the frozen encoder, "
        "or ridge regression for scores; takes no steps",
    )
    ridge: Annotated[float, Field(ge=0)] | Literal["auto"] = Field(
        0.0,
        description="L2 penalty on the last layer of the head, 1/C of logistic regression; try 0.3 with few rows; "
        "auto: chosen by cross-validation on the training rows (solve = true)",
    )
    class_texts: str = Field(
        "none",
        description="texts that represent the classes: names, the class names, or a file with the columns label and "
        "text; ridge pulls the head to the cosines with them instead of to 0 (solve = true)",
    )
    pseudo_labels: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of the unlabelled texts (at most 2,000) that the head also learns from, with the most "
        "confident predictions of a head solved on the labelled rows as their labels (solve = true)",
    )
    objective: str | dict[str, Any] | None = Field(
        None, description='objective to add to cross-entropy: its name, or { name = "supcon", temperature = 0.3 }'
    )
    ce_weight: float = Field(
        0.5, ge=0, le=1, description="weight of cross-entropy if an objective is added, whose weight is the rest"
    )
    on: Literal["sentence", "tokens"] = Field(
        "sentence", description="input of the objective: sentence vectors, or the token states before pooling"
    )
    views: ViewList = Field(
        default_factory=list,
        description='also train on a second view of each text, e.g. ["dropout"] or ["delete-words"]',
    )
    slack: float = Field(
        0.0,
        ge=0,
        description="keep later weights if their score is not falling and at most this many standard errors of the "
        "difference in accuracy below the best",
    )
    watch: str = Field(
        "auto",
        description="validation metric for early stopping and selecting the weights; auto: macro_f1; several "
        "labels per text: micro_f1; scores: pearson",
    )

    @property
    def skips_parameters(self) -> bool:
        """Whether the encoder is frozen and gets no gradient."""
        return self.freeze

    @property
    def uses_unlabelled(self) -> bool:
        """Whether the head learns from pseudo-labels."""
        return bool(self.pseudo_labels)

    @property
    def takes_pairs(self) -> bool:
        """Whether rows may be pairs: views and pseudo-labels need single texts, an objective one input for both."""
        return (self.objective is None or self.pair == "together") and not self.views and not self.pseudo_labels

    def heads(self) -> Mapping[str, HeadSettings]:
        """The head of the only table."""
        return {"": self}

    def watched_tasks(self) -> Mapping[str, str]:
        """The watched metric of the only table."""
        return {"": self.watch}

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Check the loss of the head and the watched metric."""
        from phasefit.kinds import kind_named

        for kind in kinds.values():
            self.check_kind(where, kind)
            kind_named(kind).check_watch(self.watch, where)
            if self.class_texts != "none" and kind_named(kind).answer != "class":
                raise RecipeError(
                    f"{where}: class_texts in a head need one class per text, but the labels are of kind '{kind}'; "
                    "remove it"
                )
            if self.pseudo_labels and kind_named(kind).answer != "class":
                raise RecipeError(
                    f"{where}: pseudo_labels need one class per text, but the labels are of kind '{kind}'; remove it"
                )

    @field_validator("watch")
    @classmethod
    def _known(cls, value: str) -> str:
        watchable(value)
        return value

    @model_validator(mode="after")
    def _solvable(self) -> Self:
        if not self.solve:
            only_solved = {"ridge": self.ridge == "auto", "class_texts": self.class_texts != "none"}
            for name, given in (*only_solved.items(), ("pseudo_labels", bool(self.pseudo_labels))):
                if given:
                    value = getattr(self, name)
                    shown = value if isinstance(value, float) else f"'{value}'"
                    raise ValueError(f"{name} = {shown} needs solve = true, which solves the head; add it")
            return self
        if not self.freeze:
            raise ValueError("solve = true solves the head on the vectors of a frozen encoder; add freeze = true")
        if self.head not in ("linear", "cosine"):
            raise ValueError(f"head = '{self.head}' cannot be solved; use head = 'linear' or head = 'cosine'")
        if self.pair == "together":
            raise ValueError("pair = 'together' has a layer for each order and cannot be solved; use another pair")
        if self.class_texts != "none" and self.head != "cosine":
            raise ValueError("class_texts are compared by their cosines; use head = 'cosine'")
        if not self.ridge:
            raise ValueError("solve = true needs a penalty on the head; set ridge = 'auto', or a number above 0")
        for name in ("label_smoothing", "focal", "upper_levels", "average", "soup"):
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"solve = true takes no steps, so '{name}' has no effect; remove one of them")
        return self

    @model_validator(mode="after")
    def _frozen_alone(self) -> Self:
        for name in ("objective", "views", "chunk"):
            if self.freeze and getattr(self, name):
                raise ValueError(f"freeze = true trains only the head, so '{name}' has no effect; remove one of them")
        encoder_options = ("layer_decay", "encoder_dropout", "freeze_words", "frozen_layers")
        idle = [name for name in encoder_options if getattr(self, name) != type(self).model_fields[name].default]
        if self.freeze and idle:
            raise ValueError(f"freeze = true does not train the encoder, so '{idle[0]}' has no effect; remove it")
        if self.on == "tokens" and self.objective is None:
            raise ValueError("on = 'tokens' is for an objective, but none is set; add an objective or remove 'on'")
        return self

    def check(self, where: str) -> None:
        """Check the objective and the views."""
        from phasefit.models.views import build_views
        from phasefit.phases.objective_option import build_objective, check_input

        build_views(where, self.views)
        if self.objective is not None:
            objective = build_objective(where, self.objective)
            check_input(where, objective, "tokens" if self.on == "tokens" else "labelled")
