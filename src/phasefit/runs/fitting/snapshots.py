"""Snapshots of the embedding space: the vectors of the same texts before training and after each phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.seeds import generator

if TYPE_CHECKING:  # pictures, which need the names of stages, are drawn without torch
    from phasefit.models.encoder.encoder import Encoder
    from phasefit.models.tokens.tokens import Tokens
    from phasefit.phases.contract import PhaseData

BEFORE = "before training"  # the first stage
SPLITS = ("validation", "train", "unlabelled")  # sources of the texts: the first that has any
MOST_TEXTS = 500
SOME = 3  # texts of each class before large classes get more


class Snapshots:
    """Up to 500 texts, from validation if possible, and their vectors at each stage, in order.

    `vectors` maps "before training" and then each phase's name to float32 (texts, dimension); the dimension may differ
    between stages. `codes` are the texts' classes, all -1 in a run without labels. In such a run, `others` are the
    numbers of the texts that belong to them, -1 for none, and `other_vectors` maps the stages to their vectors.
    """

    def __init__(self, split: str, rows: np.ndarray, codes: np.ndarray, others: np.ndarray | None = None) -> None:
        self.split, self.rows, self.codes = split, rows, codes
        self.others = np.full(len(rows), -1) if others is None else others
        self.vectors: dict[str, np.ndarray] = {}
        self.other_vectors: dict[str, np.ndarray] = {}

    @classmethod
    def of(cls, data: PhaseData, seed: int, most: int = MOST_TEXTS) -> Snapshots:
        """Choose the texts."""
        # The label of a pair is not the class of its first text, and not every pair belongs together.
        codes = np.full_like(data.codes, -1) if data.of_pairs else data.codes
        labelled = [name for name in SPLITS if (codes[getattr(data, name)] >= 0).any()]
        split = next((name for name in labelled or SPLITS if len(getattr(data, name))), "train")
        rows = np.asarray(getattr(data, split))
        rows = rows[codes[rows] >= 0] if labelled else rows
        rows = rows[some_of_each(codes[rows], most, generator(seed, "snapshots"))]
        alone = labelled or data.others is None or data.of_pairs
        return cls(split, rows, codes[rows], None if alone or data.others is None else data.others[rows, 0])

    @property
    def texts(self) -> str:
        """A name for the texts, for captions."""
        return self.named("texts")

    def named(self, what: str) -> str:
        """The split that these texts, or pairs, come from, as part of a caption."""
        return f"{'training' if self.split == 'train' else self.split} {what}"

    def take(self, name: str, encoder: Encoder, tokens: Tokens) -> None:
        """Add the encoder's current vectors as a stage; an existing stage is replaced."""
        from phasefit.models.encoder.inference import encode_rows

        if len(self.rows):
            self.vectors[name] = encode_rows(encoder, tokens, self.rows).cpu().numpy()
        if self.paired.any():
            self.other_vectors[name] = encode_rows(encoder, tokens, self.others[self.paired]).cpu().numpy()

    @property
    def paired(self) -> np.ndarray:
        """A mask of the texts that have a matching text."""
        return np.asarray(self.others >= 0)

    def pairs(self, stage: str) -> tuple[np.ndarray, np.ndarray] | None:
        """The vectors of the paired texts and of their matching texts."""
        return (self.vectors[stage][self.paired], self.other_vectors[stage]) if stage in self.other_vectors else None

    @property
    def arrays(self) -> list[np.ndarray]:
        """All vectors, in the order that `from_json` expects."""
        return [*self.vectors.values(), *self.other_vectors.values()]

    def to_json(self) -> dict[str, Any]:
        """Everything but the vectors, which are saved with the tensors."""
        return {
            "split": self.split,
            "rows": self.rows.tolist(),
            "codes": self.codes.tolist(),
            "others": self.others.tolist(),
            "stages": list(self.vectors),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Snapshots:
        """Restore saved snapshots; `arrays` are the vectors in the order of `arrays`."""
        rows, codes, others = (np.array(content[name], np.int64) for name in ("rows", "codes", "others"))
        snapshots = cls(content["split"], rows, codes, others)
        stages = content["stages"]
        snapshots.vectors = dict(zip(stages, arrays[: len(stages)], strict=True))
        if snapshots.paired.any():
            snapshots.other_vectors = dict(zip(stages, arrays[len(stages) :], strict=True))
        return snapshots


def some_of_each(codes: np.ndarray, most: int, random: np.random.Generator) -> np.ndarray:
    """Sorted positions of at most `most` codes: a few of each class first, the rest in proportion."""
    order = random.permutation(len(codes))
    if len(codes) <= most:
        return np.arange(len(codes))
    _, group, sizes = np.unique(codes[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(group, kind="stable")
    rank = np.empty(len(codes))  # 0 for the first of its class, 1 for the second ...
    rank[by_class] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first = rank < SOME
    turn = np.where(first, rank - SOME, (rank + 0.5) / sizes[group])  # first ones below 0, then in proportion
    return np.sort(order[np.argsort(turn, kind="stable")[:most]])
