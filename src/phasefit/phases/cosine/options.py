"""Options of the cosine phase."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from phasefit.phases.options import ChunkOptions, PhaseOptions


class Options(PhaseOptions, ChunkOptions):
    """Options of `kind = "cosine"`."""

    implementation = "phasefit.phases.cosine.phase:Cosine"
    weighs_rows = True
    kind: Literal["cosine"] = "cosine"
    objective: str | dict[str, Any] = Field(
        "cosine", description='name of an objective for pairs, or { name = "contrastive", margin = 0.5 }'
    )
    watch: Literal["spearman", "pearson"] = Field(
        "spearman", description="score that selects the weights: correlation of cosines and labels on validation pairs"
    )

    @property
    def takes_pairs(self) -> bool:
        """True: rows must be pairs."""
        return True

    def check(self, where: str) -> None:
        """Check the objective."""
        from phasefit.phases.objective_option import build_objective, check_input

        check_input(where, build_objective(where, self.objective), "pairs")
