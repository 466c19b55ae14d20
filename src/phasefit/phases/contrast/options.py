"""What a recipe may say about a contrast phase."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from phasefit.errors import RecipeError
from phasefit.phases.options import PhaseOptions, Strict


class Balance(Strict):
    """The imbalance correction: small classes are repeated, their copies noised."""

    mode: Literal["code", "paper", "none"] = Field("code", description="code: whole copies; paper: at least min_ratio")
    min_ratio: float = Field(1.5, ge=0, description="below this growth a class is left alone (code) or lifted to it")
    max_ratio: float = Field(4.0, gt=0, description="growth of a class with one row")
    noise: float = Field(0.5, ge=0, le=1, description="probability that a stop word of a copy is deleted")
    min_words: int = Field(5, ge=1, description="shorter texts are repeated as they are")
    stop_words: str = Field("english", description="the packaged list, or a file with one word per line")


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
    balance: Balance = Field(default_factory=lambda: Balance())


class Options(PhaseOptions, ContrastSettings):
    """Options of `kind = "contrast"`."""

    kind: Literal["contrast"] = "contrast"
    watch: Literal["auto", "probe", "pairs"] = Field(
        "auto",
        description="probe: a linear probe's macro F1; pairs: the objective on validation pairs; auto: the probe",
    )

    def check(self, where: str) -> None:
        """The objective and the stop words."""
        check_contrast(self, where)


def check_contrast(settings: ContrastSettings, where: str) -> None:
    """Whether the objective exists, has these options and takes these pairs, and the stop words can be read."""
    from phasefit.data.stop_words import stop_words
    from phasefit.phases.objective_option import build_objective

    objective = build_objective(where, settings.objective)
    if settings.pairs == "explicit" and "pairs" not in objective.inputs:
        raise RecipeError(f"{where}: objective {settings.objective!r} takes no explicit pairs; use pairs = 'batch'")
    if settings.balance.mode != "none":
        stop_words(settings.balance.stop_words)
