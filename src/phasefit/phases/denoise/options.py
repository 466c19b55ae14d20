"""What a recipe may say about a denoise phase."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from phasefit.phases.options import PhaseOptions, Strict


class DenoiseSettings(Strict):
    """What makes denoising what it is; shared with the joint phase."""

    noise: Literal["delete", "mask"] = Field("delete", description="what happens to a word that is hit")
    ratio: float = Field(0.6, ge=0, lt=1, description="probability that a word is hit; one word always stays")
    dense: Literal["none", "identity", "paper"] = Field(
        "none", description="bottleneck layer behind the pooling, kept with the encoder; paper: random start and Tanh"
    )
    decoder: Literal["light", "tied"] = Field(
        "light", description="light works behind any encoder; tied is the paper's"
    )


class Options(PhaseOptions, DenoiseSettings):
    """Options of `kind = "denoise"`."""

    parts = ("encoder", "dense", "decoder")
    kind: Literal["denoise"] = "denoise"
    watch: Literal["auto", "probe", "loss"] = Field(
        "auto",
        description="probe: a linear probe's macro F1; loss: reconstruction; auto: the probe where it can be had",
    )

    @property
    def needs(self) -> Literal["texts", "labels", "pairs"]:
        """Labels are never looked at."""
        return "texts"
