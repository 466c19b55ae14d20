"""Options of the self-train phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from phasefit.errors import RecipeError
from phasefit.phases.options import ChunkOptions, ClassTextChecks, PhaseOptions

KINDS = ("single", "tree")


class Options(ClassTextChecks, PhaseOptions, ChunkOptions):
    """Options of `kind = "self-train"`. One epoch of this phase is all its rounds."""

    implementation = "phasefit.phases.self_train.phase:SelfTrain"
    kind: Literal["self-train"] = "self-train"
    rounds: int = Field(2, ge=1, description="rounds with pseudo-labels, after a round on the labelled rows only")
    folds: int = Field(
        3, ge=2, description="parts of the labelled rows; each round is tested on parts that it was not trained on"
    )
    guard: float = Field(
        1.0,
        ge=0,
        description="drop a round if its accuracy on held-out rows is lower by more than this many standard errors",
    )
    passes: float = Field(5.0, gt=0, description="passes over the labelled rows in the first round")
    round_steps: int = Field(20, ge=1, description="minimum number of steps of the first round")
    most_round_steps: int = Field(400, ge=1, description="maximum number of steps of the first round")
    stretch: int = Field(2, ge=1, description="steps of a round with pseudo-labels, relative to the first round")
    texts: int = Field(2000, ge=2, description="maximum number of unlabelled texts that are used, drawn at random")
    keep: float = Field(
        0.5, gt=0, le=1, description="share of the texts that get a pseudo-label, the most confident of each class"
    )
    per_class: int = Field(2, ge=2, description="texts per class in a batch")
    temperature: float = Field(0.1, gt=0, description="temperature of the supervised contrastive objective")
    class_texts: str = Field(
        "none",
        description="texts that represent the classes; names: the class names; or a file with the columns label and "
        "text; each text is assigned to the most similar one (ce_weight)",
    )
    ce_weight: float = Field(
        0.8,
        gt=0,
        lt=1,
        description="weight of cross-entropy that assigns each text to the most similar class text, if there are any; "
        "the contrastive objective has the rest",
    )

    @property
    def uses_unlabelled(self) -> bool:
        """True."""
        return True

    @property
    def needs_unlabelled(self) -> bool:
        """True: without unlabelled texts there are no rounds."""
        return True

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Refuse labels that are not one class per text."""
        for kind in kinds.values():
            if kind not in KINDS:
                raise RecipeError(
                    f"{where}: pseudo-labels need one class per text, but the labels are of kind '{kind}'; use another "
                    "recipe"
                )
