"""Objectives: pure losses. Each is a frozen dataclass that turns embeddings and targets into one scalar.

An objective never holds a model and never sees text; it imports torch and nothing of phasefit. What it can be fed is
its `inputs`: `labelled` (embeddings and targets of one batch: every pair in it counts), `pairs` (two sides and how much
they agree). Adding one is a file here, a line below, and a reference value in its test.
"""

from phasefit.objectives.agreement import agreement, pair_agreement
from phasefit.objectives.contract import Objective
from phasefit.objectives.cosine import Cosine
from phasefit.objectives.cross_entropy import CrossEntropy
from phasefit.objectives.supcon import SupCon

OBJECTIVES: dict[str, type[Objective]] = {
    "cosine": Cosine,
    "supcon": SupCon,
}

__all__ = ["OBJECTIVES", "Cosine", "CrossEntropy", "Objective", "SupCon", "agreement", "pair_agreement"]
