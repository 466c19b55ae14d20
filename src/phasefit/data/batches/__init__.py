"""Batches: seeded streams of row numbers with O(n) memory.

A stream has no state to save: `epoch(k)` is a function of the seed and k, so a run resumes by skipping ahead.
`contract` defines the interface of a stream. May import seeds, and nothing else from `data`.
"""

from phasefit.data.batches.class_aware import ClassBatches
from phasefit.data.batches.combined import TaskBatches, ZippedBatches
from phasefit.data.batches.contract import Batches, Draw
from phasefit.data.batches.pairs import PairBatches, draw_pairs
from phasefit.data.batches.shuffled import ShuffledBatches
from phasefit.data.batches.union import UnionBatches

__all__ = [
    "Batches",
    "ClassBatches",
    "Draw",
    "PairBatches",
    "ShuffledBatches",
    "TaskBatches",
    "UnionBatches",
    "ZippedBatches",
    "draw_pairs",
]
