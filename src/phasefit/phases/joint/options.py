"""What a recipe may say about a joint phase."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from phasefit.phases.contrast.options import ContrastSettings
from phasefit.phases.denoise.options import DenoiseSettings
from phasefit.phases.options import PhaseOptions


class Options(PhaseOptions):
    """Options of `kind = "joint"`."""

    kind: Literal["joint"] = "joint"
    mix: Literal["sum", "alternate"] = Field("sum", description="both losses in every step, or one after the other")
    denoise_weight: float = Field(1.0, ge=0)
    contrast_weight: float = Field(1.0, ge=0)
    denoise: DenoiseSettings = Field(default_factory=lambda: DenoiseSettings())
    contrast: ContrastSettings = Field(default_factory=lambda: ContrastSettings())
    watch: Literal["auto", "probe", "loss"] = Field("auto", description="probe, or the sum of both validation losses")
