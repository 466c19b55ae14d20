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
SPLITS = ("validation", "train", "unlabelled")  # where texts are taken from: the first that has any
MOST_TEXTS = 500
SOME = 3  # texts that each class gets before the large ones get more


class Snapshots:
    """Up to 500 texts, of validation where there is one, and what encoders made of them, by stage in order.

    `vectors` maps "before training" and then each phase's name to float32 (texts, dimension); the dimension may differ
    between stages. `codes` are the texts' classes, all -1 in a run without labels. There `others` are the numbers of
    the texts that belong to them, -1 for none, and `beside` maps the same stages to the vectors of those there are.
    """

    def __init__(self, split: str, rows: np.ndarray, codes: np.ndarray, others: np.ndarray | None = None) -> None:
        self.split, self.rows, self.codes = split, rows, codes
        self.others = np.full(len(rows), -1) if others is None else others
        self.vectors: dict[str, np.ndarray] = {}
        self.beside: dict[str, np.ndarray] = {}

    @classmethod
    def of(cls, data: PhaseData, seed: int, most: int = MOST_TEXTS) -> Snapshots:
        """Choose the texts."""
        # The label of a pair is no class of its first text, and not every pair belongs together.
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
        """What the texts are, for captions."""
        return self.named("texts")

    def named(self, what: str) -> str:
        """Where these texts, or pairs, come from."""
        return f"{'training' if self.split == 'train' else self.split} {what}"

    def take(self, name: str, encoder: Encoder, tokens: Tokens) -> None:
        """Add the encoder's vectors as they are now; a stage taken again replaces itself."""
        from phasefit.models.encoder.inference import encode_rows

        if len(self.rows):
            self.vectors[name] = encode_rows(encoder, tokens, self.rows).cpu().numpy()
        if self.paired.any():
            self.beside[name] = encode_rows(encoder, tokens, self.others[self.paired]).cpu().numpy()

    @property
    def paired(self) -> np.ndarray:
        """Which of the texts have another that belongs to them."""
        return np.asarray(self.others >= 0)

    def pairs(self, stage: str) -> tuple[np.ndarray, np.ndarray] | None:
        """The vectors of those texts and of the ones that belong to them."""
        return (self.vectors[stage][self.paired], self.beside[stage]) if stage in self.beside else None

    @property
    def arrays(self) -> list[np.ndarray]:
        """All vectors, in the order that `from_json` takes them in."""
        return [*self.vectors.values(), *self.beside.values()]

    def to_json(self) -> dict[str, Any]:
        """All but the vectors, which go where tensors go."""
        return {
            "split": self.split,
            "rows": self.rows.tolist(),
            "codes": self.codes.tolist(),
            "others": self.others.tolist(),
            "stages": list(self.vectors),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Snapshots:
        """What was saved, with the vectors of its stages in their order."""
        rows, codes, others = (np.array(content[name], np.int64) for name in ("rows", "codes", "others"))
        made = cls(content["split"], rows, codes, others)
        stages = content["stages"]
        made.vectors = dict(zip(stages, arrays[: len(stages)], strict=True))
        if made.paired.any():
            made.beside = dict(zip(stages, arrays[len(stages) :], strict=True))
        return made


def some_of_each(codes: np.ndarray, most: int, random: np.random.Generator) -> np.ndarray:
    """Places of up to `most` codes in their order: a few of each class first, the rest in proportion."""
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
