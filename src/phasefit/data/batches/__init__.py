"""Batches: seeded streams of row numbers at O(n) memory.

A stream has no state to save: `epoch(k)` is a function of the seed and k, so a run is resumed by skipping ahead.
"""

from phasefit.data.batches.class_aware import ClassBatches
from phasefit.data.batches.contract import Batches, Draw
from phasefit.data.batches.pairs import PairBatches, draw_pairs
from phasefit.data.batches.shuffled import ShuffledBatches
from phasefit.data.batches.tasks import TaskBatches
from phasefit.data.batches.zipped import ZippedBatches

__all__ = [
    "Batches",
    "ClassBatches",
    "Draw",
    "PairBatches",
    "ShuffledBatches",
    "TaskBatches",
    "ZippedBatches",
    "draw_pairs",
]
