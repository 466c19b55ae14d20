"""Options of the contrast phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from phasefit.errors import RecipeError
from phasefit.phases.options import ChunkOptions, PhaseOptions, Strict

if TYPE_CHECKING:
    from phasefit.data.labels import LabelSpace
    from phasefit.objectives import Objective


class Balance(Strict):
    """The imbalance correction: rows of small classes are repeated, the copies with noise."""

    mode: Literal["code", "paper", "none"] = Field(
        "code",
        description="code: repeat whole classes, as in the authors' code; paper: the formula of the paper; none: off",
    )
    min_ratio: float = Field(
        1.5, ge=0, description="mode = code: classes that would grow by less stay as they are; paper: minimum growth"
    )
    max_ratio: float = Field(4.0, gt=0, description="growth factor of a class with one row")
    noise: float = Field(0.5, ge=0, le=1, description="probability that a stop word of a copy is deleted")
    min_words: int = Field(5, ge=1, description="texts with fewer words are repeated without noise")
    stop_words: str = Field("english", description="english, or a file with one word per line")
    generate: bool = Field(
        False,
        description="replace copies with generated texts that keep their class; needs an earlier denoise phase with "
        "variant = 'vae'",
    )


class ContrastSettings(Strict):
    """Options of contrast that the joint phase shares."""

    objective: str | dict[str, Any] = Field(
        "cosine", description='name of an objective, or { name = "supcon", temperature = 0.1 }'
    )
    pairs: Literal["batch", "explicit"] = Field(
        "batch",
        description="batch: all pairs of a class-aware batch; explicit: unique pairs drawn once, as in the paper",
    )
    agreement: Literal["graded", "equal"] = Field(
        "graded",
        description="tree labels; graded: two texts are as similar as the share of leading levels that they have in "
        "common; equal: only texts with equal paths are similar",
    )
    per_class: int = Field(4, ge=2, description="texts per class in a batch (pairs = 'batch')")
    augmentation: int = Field(
        12, ge=1, description="the paper's Aug: the higher, the more pairs are drawn (pairs = 'explicit')"
    )
    dense: Literal["none", "identity", "paper"] = Field(
        "none",
        description="dense layer added to the encoder permanently; identity: starts as the identity; paper: random "
        "start, with Tanh",
    )
    class_texts: str = Field(
        "none",
        description="texts that represent the classes; names: the class names; or a file with the columns label and "
        "text; they are additional training texts, or what ce_weight refers to",
    )
    ce_weight: float = Field(
        0.0,
        ge=0,
        le=1,
        description="weight of cross-entropy that assigns each text to the most similar class text; the objective has "
        "the rest; 0: class texts are additional training texts",
    )
    hard_negatives: int = Field(
        0,
        ge=0,
        description="add hard negatives: for each text, one of its N nearest texts of other classes; 0: none",
    )
    refresh: int = Field(200, ge=1, description="steps between two searches for hard negatives")
    balance: Balance = Field(default_factory=lambda: Balance())

    @model_validator(mode="after")
    def _has_class_texts(self) -> Self:
        if not self.ce_weight:
            return self
        if self.class_texts == "none":
            raise ValueError("ce_weight compares texts with class texts, but there are none; add class_texts = 'names'")
        if self.pairs == "explicit":
            raise ValueError("ce_weight needs pairs = 'batch', not 'explicit'")
        return self


class Options(PhaseOptions, ContrastSettings, ChunkOptions):
    """Options of `kind = "contrast"`."""

    implementation = "phasefit.phases.contrast.phase:Contrast"
    weighs_rows = True
    parts = ("encoder", "dense", "proxies")
    kind: Literal["contrast"] = "contrast"
    watch: Literal["auto", "probe", "pairs"] = Field(
        "auto",
        description="score that selects the weights; probe: macro F1 of a linear probe; pairs: the objective on "
        "validation pairs; auto: probe",
    )

    @property
    def adds_random_layer(self) -> bool:
        """Whether its dense layer starts with random weights."""
        return self.dense == "paper"

    def check(self, where: str) -> None:
        """Check the objective, the stop words and the class texts."""
        check_contrast(self, where)

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Check that `agreement` applies to the labels."""
        check_agreement(self, where, kinds)

    def check_order(self, where: str, before: Sequence[PhaseOptions]) -> None:
        """Check that an earlier phase generates texts if `balance.generate` is set."""
        check_contrast_order(self, where, before)

    def files(self) -> list[Path]:
        """The files of class texts and stop words."""
        return contrast_files(self)

    def check_files(self, where: str) -> None:
        """Check the file of class texts."""
        check_contrast_files(self, where)

    def check_classes(self, where: str, space: LabelSpace) -> None:
        """Check that the class texts fit the classes."""
        from phasefit.phases.class_texts import check_class_texts

        check_class_texts(self.class_texts, space, where)


def check_contrast(settings: ContrastSettings, where: str) -> None:
    """Check that the objective exists, has these options and supports these pairs, and that files can be read."""
    from phasefit.data.stop_words import stop_words

    contrast_objective(settings, where)
    if settings.balance.mode != "none":
        stop_words(settings.balance.stop_words)
    check_contrast_files(settings, where)


def check_agreement(settings: ContrastSettings, where: str, kinds: Mapping[str, str]) -> None:
    """Raise if `agreement` is set and the labels are not paths in a tree."""
    if settings.agreement != "graded" and {*kinds.values()} != {"tree"}:
        kind = next(kind for kind in kinds.values() if kind != "tree")
        raise RecipeError(
            f"{where}: agreement = 'equal' is for tree labels, not for labels of kind '{kind}'; remove it"
        )


def check_contrast_files(settings: ContrastSettings, where: str) -> None:
    """Check that the class texts can be read."""
    from phasefit.phases.class_texts import read_class_texts

    read_class_texts(settings.class_texts, where)


def check_contrast_order(settings: ContrastSettings, where: str, before: Sequence[PhaseOptions]) -> None:
    """Check that an earlier phase generates texts if `balance.generate` is set."""
    if settings.balance.generate and not any(phase.makes_texts for phase in before):
        raise RecipeError(f"{where}: balance.generate needs a denoise phase with variant = 'vae' before it")


def contrast_files(settings: ContrastSettings) -> list[Path]:
    """The files that options name."""
    paths = (Path(name) for name in (settings.class_texts, settings.balance.stop_words))
    return [path for path in paths if path.is_file()]


def contrast_objective(settings: ContrastSettings, where: str) -> Objective:
    """Build the objective; raise if it does not work with labelled texts or with these pairs."""
    from phasefit.phases.objective_option import build_objective

    objective = build_objective(where, settings.objective)
    subject = f"{where}: objective '{objective.name}'"
    if "labelled" not in objective.inputs:
        raise RecipeError(f"{subject} compares views of one text and ignores labels; use it in simcse, mirror or mnr")
    if objective.weighs_classes:
        raise RecipeError(f"{subject} needs a second network to weight the classes; use it in finetune")
    if settings.pairs == "explicit" and "pairs" not in objective.inputs:
        raise RecipeError(f"{subject} does not support explicit pairs; use pairs = 'batch'")
    if settings.pairs == "explicit" and settings.hard_negatives:
        raise RecipeError(f"{where}: hard_negatives needs pairs = 'batch', not 'explicit'")
    return objective
