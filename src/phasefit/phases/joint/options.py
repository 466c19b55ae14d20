"""Options of the joint phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from phasefit.phases.contrast.options import (
    ContrastSettings,
    check_agreement,
    check_contrast,
    check_contrast_files,
    check_contrast_order,
    contrast_files,
)
from phasefit.phases.denoise.options import DenoiseSettings
from phasefit.phases.options import PhaseOptions

if TYPE_CHECKING:
    from phasefit.data.labels import LabelSpace


class Options(PhaseOptions):
    """Options of `kind = "joint"`."""

    implementation = "phasefit.phases.joint.phase:Joint"
    weighs_rows = True
    parts = ("encoder", "dense", "decoder", "proxies")
    kind: Literal["joint"] = "joint"
    mix: Literal["sum", "alternate"] = Field(
        "sum", description="sum: both losses in every step; alternate: one loss per step, in turn"
    )
    denoise_weight: float = Field(1.0, ge=0, description="weight of the reconstruction loss")
    contrast_weight: float = Field(1.0, ge=0, description="weight of the contrastive loss")
    denoise: DenoiseSettings = Field(default_factory=lambda: DenoiseSettings())
    contrast: ContrastSettings = Field(default_factory=lambda: ContrastSettings())
    watch: Literal["auto", "probe", "loss", "last"] = Field(
        "auto",
        description="score that selects the weights; probe: macro F1 of a linear probe; loss: weighted sum of both "
        "validation losses; last: no evaluation, the last weights are kept; auto: probe if there are labels, else loss",
    )

    @model_validator(mode="after")
    def _learns_something(self) -> Self:
        if not self.denoise_weight and not self.contrast_weight:
            raise ValueError("denoise_weight and contrast_weight are both 0; set at least one above 0")
        if self.denoise.variant == "vae":
            raise ValueError(
                "denoise.variant = 'vae' is not supported in a joint phase; use a separate phase with kind = 'denoise'"
            )
        return self

    @property
    def not_sharded(self) -> str | None:
        """The decoder of denoising."""
        return self.denoise.sharding_obstacle()

    @property
    def adds_random_layer(self) -> bool:
        """Whether a dense layer of either part starts with random weights."""
        return "paper" in (self.denoise.dense, self.contrast.dense)

    def check(self, where: str) -> None:
        """Check the objective and the files of contrast."""
        check_contrast(self.contrast, where)

    @property
    def uses_unlabelled(self) -> bool:
        """True: denoising needs no labels."""
        return True

    def check_row_weights(self, where: str) -> None:
        """Check the objective of contrast."""
        from phasefit.phases.objective_option import check_row_weights

        check_row_weights(where, self.contrast.objective)

    def check_kinds(self, where: str, kinds: Mapping[str, str]) -> None:
        """Check that the agreement of contrast applies to the labels."""
        check_agreement(self.contrast, where, kinds)

    def check_order(self, where: str, before: Sequence[PhaseOptions]) -> None:
        """Check the order as contrast does."""
        check_contrast_order(self.contrast, where, before)

    def files(self) -> list[Path]:
        """The files of contrast."""
        return contrast_files(self.contrast)

    def check_files(self, where: str) -> None:
        """Check the files of contrast."""
        check_contrast_files(self.contrast, where)

    def check_classes(self, where: str, space: LabelSpace) -> None:
        """Check that the class texts of contrast fit the classes."""
        from phasefit.phases.class_texts import check_class_texts

        check_class_texts(self.contrast.class_texts, space, where)

    @property
    def skips_parameters(self) -> bool:
        """Whether steps alternate: a contrast step does not use the decoder."""
        return self.mix == "alternate"
