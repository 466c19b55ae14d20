"""What a recipe may say about a denoise phase."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

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
    variant: Literal["dae", "vae"] = Field(
        "dae", description="vae: rebuild from a draw around the vector, so that the decoder can make new texts"
    )
    beta: float = Field(1e-4, ge=0, description="what the KL divergence counts for (variant = 'vae')")
    beta_steps: int = Field(0, ge=0, description="steps over which beta grows from 0 (variant = 'vae')")

    @model_validator(mode="after")
    def _draws_need_a_decoder_of_their_own(self) -> Self:
        if self.variant == "vae" and self.decoder == "tied":
            raise ValueError("variant = 'vae' needs decoder = 'light': a tied one changes with the encoder afterwards")
        return self


class Options(PhaseOptions, DenoiseSettings):
    """Options of `kind = "denoise"`."""

    implementation = "phasefit.phases.denoise.phase:Denoise"
    parts = ("encoder", "dense", "decoder")
    kind: Literal["denoise"] = "denoise"
    watch: Literal["auto", "probe", "loss"] = Field(
        "auto",
        description="probe: a linear probe's macro F1; loss: reconstruction; auto: the probe where it can be had",
    )

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Labels are never looked at."""
        return "texts"

    @property
    def makes_texts(self) -> bool:
        """A decoder that draws can."""
        return self.variant == "vae"
