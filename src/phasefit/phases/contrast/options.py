"""What a recipe may say about a contrast phase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from phasefit.errors import RecipeError
from phasefit.phases.options import ChunkOptions, PhaseOptions, Strict

if TYPE_CHECKING:
    from phasefit.objectives import Objective


class Balance(Strict):
    """The imbalance correction: small classes are repeated, their copies noised."""

    mode: Literal["code", "paper", "none"] = Field("code", description="code: whole copies; paper: at least min_ratio")
    min_ratio: float = Field(1.5, ge=0, description="below this growth a class is left alone (code) or lifted to it")
    max_ratio: float = Field(4.0, gt=0, description="growth of a class with one row")
    noise: float = Field(0.5, ge=0, le=1, description="probability that a stop word of a copy is deleted")
    min_words: int = Field(5, ge=1, description="shorter texts are repeated as they are")
    stop_words: str = Field("english", description="the packaged list, or a file with one word per line")
    generate: bool = Field(
        False,
        description="copies are new texts, made by a denoise phase with variant = 'vae', where they keep their class",
    )


class ContrastSettings(Strict):
    """What makes contrast what it is; shared with the joint phase."""

    objective: str | dict[str, Any] = Field("cosine", description='a name, or { name = "supcon", temperature = 0.1 }')
    pairs: Literal["batch", "explicit"] = Field(
        "batch", description="batch: all pairs of a class-aware batch; explicit: the paper's unique pairs"
    )
    per_class: int = Field(4, ge=2, description="texts of one class that come together (pairs = 'batch')")
    augmentation: int = Field(12, ge=1, description="the authors' Aug: how many pairs are drawn (pairs = 'explicit')")
    dense: Literal["none", "identity", "paper"] = Field(
        "none", description="layer added behind the encoder, kept with it; paper: random start and Tanh"
    )
    class_texts: str = Field(
        "none",
        description="extra texts of the classes: names (theirs), or a file with the columns label and text",
    )
    hard_negatives: int = Field(
        0, ge=0, description="each text gets one of so many nearest texts of other classes beside it; 0: none"
    )
    refresh: int = Field(200, ge=1, description="steps after which the hard negatives are looked for again")
    balance: Balance = Field(default_factory=lambda: Balance())


class Options(PhaseOptions, ContrastSettings, ChunkOptions):
    """Options of `kind = "contrast"`."""

    implementation = "phasefit.phases.contrast.phase:Contrast"
    parts = ("encoder", "dense", "proxies")
    kind: Literal["contrast"] = "contrast"
    watch: Literal["auto", "probe", "pairs"] = Field(
        "auto",
        description="probe: a linear probe's macro F1; pairs: the objective on validation pairs; auto: the probe",
    )

    def check(self, where: str) -> None:
        """The objective, the stop words and the class texts."""
        check_contrast(self, where)


def check_contrast(settings: ContrastSettings, where: str) -> None:
    """Whether the objective exists, has these options and takes these pairs, and files can be read."""
    from phasefit.data.stop_words import stop_words
    from phasefit.phases.contrast.class_texts import read_class_texts

    contrast_objective(settings, where)
    if settings.balance.mode != "none":
        stop_words(settings.balance.stop_words)
    read_class_texts(settings.class_texts, where)


def contrast_objective(settings: ContrastSettings, where: str) -> Objective:
    """The objective, if texts with labels are enough for it and it takes the pairs that are asked for."""
    from phasefit.phases.objective_option import build_objective

    objective = build_objective(where, settings.objective)
    said = f"{where}: objective '{objective.name}'"
    if "labelled" not in objective.inputs:
        raise RecipeError(f"{said} compares views of one text, not texts by label; it is for simcse, mirror and mnr")
    if objective.weighs_classes:
        raise RecipeError(f"{said} needs a second network that weighs the classes, which only finetune has")
    if settings.pairs == "explicit" and "pairs" not in objective.inputs:
        raise RecipeError(f"{said} takes no explicit pairs; use pairs = 'batch'")
    if settings.pairs == "explicit" and settings.hard_negatives:
        raise RecipeError(f"{where}: explicit pairs are drawn once, without hard negatives; use pairs = 'batch'")
    return objective
