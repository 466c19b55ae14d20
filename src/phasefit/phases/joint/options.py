"""What a recipe may say about a joint phase."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.contrast.options import (
    ContrastSettings,
    check_contrast,
    check_contrast_files,
    check_contrast_order,
    contrast_files,
)
from phasefit.phases.denoise.options import DenoiseSettings
from phasefit.phases.options import PhaseOptions


class Options(PhaseOptions):
    """Options of `kind = "joint"`."""

    implementation = "phasefit.phases.joint.phase:Joint"
    parts = ("encoder", "dense", "decoder", "proxies")
    kind: Literal["joint"] = "joint"
    mix: Literal["sum", "alternate"] = Field("sum", description="both losses in every step, or one after the other")
    denoise_weight: float = Field(1.0, ge=0, description="what the reconstruction loss counts for")
    contrast_weight: float = Field(1.0, ge=0, description="what the contrastive loss counts for")
    denoise: DenoiseSettings = Field(default_factory=lambda: DenoiseSettings())
    contrast: ContrastSettings = Field(default_factory=lambda: ContrastSettings())
    watch: Literal["auto", "probe", "loss"] = Field("auto", description="probe, or the sum of both validation losses")

    @model_validator(mode="after")
    def _learns_something(self) -> Self:
        if not self.denoise_weight and not self.contrast_weight:
            raise ValueError("denoise_weight and contrast_weight are both 0, so nothing would be learned")
        if self.denoise.variant == "vae":
            raise ValueError("denoise.variant = 'vae' needs a phase of its own: kind = 'denoise'")
        return self

    def check(self, where: str) -> None:
        """The contrast part's objective and files."""
        check_contrast(self.contrast, where)

    def check_order(self, where: str, before: Sequence[PhaseOptions]) -> None:
        """As contrast."""
        check_contrast_order(self.contrast, where, before)

    def files(self) -> list[Path]:
        """Those of contrast."""
        return contrast_files(self.contrast)

    def check_files(self, where: str) -> None:
        """Those of contrast."""
        check_contrast_files(self.contrast, where)

    @property
    def skips_parameters(self) -> bool:
        """A step of contrast leaves the decoder alone."""
        return self.mix == "alternate"
