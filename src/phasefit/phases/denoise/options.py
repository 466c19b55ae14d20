"""Options of the denoise phase."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.options import PhaseOptions, Strict


class DenoiseSettings(Strict):
    """Options of denoising that the joint phase shares."""

    noise: Literal["delete", "mask"] = Field("delete", description="whether noise deletes or masks words")
    ratio: float = Field(
        0.6, ge=0, lt=1, description="probability that a word is deleted or masked; at least one word is kept"
    )
    dense: Literal["none", "identity", "paper"] = Field(
        "none",
        description="dense layer added to the encoder permanently; identity: starts as the identity; paper: random "
        "start, with Tanh",
    )
    decoder: Literal["light", "tied"] = Field(
        "light", description="light: works with any encoder; tied: shares the encoder's weights, as in the paper"
    )
    decoder_dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout of the decoder; default: 0.1, or that of the model (decoder = 'tied')"
    )
    variant: Literal["dae", "vae"] = Field(
        "dae", description="vae: reconstruct from a sample around the vector, so that the decoder can generate texts"
    )
    beta: float = Field(1e-4, ge=0, description="weight of the KL divergence (variant = 'vae')")
    beta_steps: int = Field(0, ge=0, description="steps over which beta rises from 0 (variant = 'vae')")

    def sharding_obstacle(self) -> str | None:
        """The option that excludes FSDP: shared weights, or a weight that the loop changes from step to step."""
        if self.decoder == "tied":
            return "decoder = 'tied'"
        return "variant = 'vae'" if self.variant == "vae" else None

    @model_validator(mode="after")
    def _vae_needs_light_decoder(self) -> Self:
        if self.variant == "vae" and self.decoder == "tied":
            raise ValueError(
                "variant = 'vae' needs decoder = 'light': a tied decoder changes when later phases train the encoder"
            )
        return self


class Options(PhaseOptions, DenoiseSettings):
    """Options of `kind = "denoise"`."""

    implementation = "phasefit.phases.denoise.phase:Denoise"
    weighs_rows = True
    parts = ("encoder", "dense", "decoder")
    kind: Literal["denoise"] = "denoise"
    watch: Literal["auto", "probe", "loss"] = Field(
        "auto",
        description="score that selects the weights; probe: macro F1 of a linear probe; loss: reconstruction loss; "
        "auto: probe if there are labels, else loss",
    )

    @property
    def needs(self) -> Literal["texts", "labels", "pairs", "tasks"]:
        """Texts; labels are not used."""
        return "texts"

    @property
    def not_sharded(self) -> str | None:
        """The decoder or the variant."""
        return self.sharding_obstacle()

    @property
    def adds_random_layer(self) -> bool:
        """Whether its dense layer starts with random weights."""
        return self.dense == "paper"

    @property
    def makes_texts(self) -> bool:
        """Whether the decoder is a VAE."""
        return self.variant == "vae"
