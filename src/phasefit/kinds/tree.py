"""One path through a tree per text: a class is a whole path."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phasefit.data.checks import Place, check_labels, split_paths
from phasefit.data.labels import LabelSpace, TreeLabels
from phasefit.data.labels.reading import LabelReading
from phasefit.data.table import Label
from phasefit.errors import LabelError
from phasefit.kinds.contract import LabelKind, LossOptions
from phasefit.kinds.single import Single

if TYPE_CHECKING:
    from phasefit.data.positives import Positives
    from phasefit.kinds.losses import HeadLoss


class Tree(Single):
    """One class per text, plus losses and metrics of the upper levels."""

    name = "tree"
    space = TreeLabels
    options = ("tree",)
    made_of = tuple
    graded = True
    loss_options = (*Single.loss_options, "upper_levels")
    likeness = LabelKind.likeness

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Any tuple."""
        return any(isinstance(value, tuple) for value in values)

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Tuples, one column per level, or names that are split at a separator."""
        labels = check_labels(values, place, paths=True)
        return labels if isinstance(labels[0], tuple) else split_paths(labels, how.tree or "/", place)

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """Paths do not mark positive pairs."""
        return None

    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """Cross-entropy, combined with that of the upper levels."""
        loss = super().loss(space, train, options)
        if options.upper_levels and space.depth > 1:
            import torch

            from phasefit.kinds.losses import WithUpperLevels
            from phasefit.objectives.head_losses import UpperLevels

            upper = UpperLevels(torch.from_numpy(_nodes(space.targets(np.arange(len(space))))))
            loss.plain = WithUpperLevels(loss.plain, upper, options.upper_levels)
        return loss

    def paths(self, space: LabelSpace) -> list[tuple[Any, ...]] | None:
        """The classes."""
        return [label if isinstance(label, tuple) else (label,) for label in space.classes]

    def check_table(self, space: LabelSpace, where: str) -> None:
        """Paths of a single level do not form a tree."""
        if space.depth == 1:
            raise LabelError(
                f"{where}: tree labels need at least two levels, and no label has a second one (the first is "
                f"'{space.names[0]}'); set the separator with --tree, or give --label once per level"
            )

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """Includes the number of levels."""
        least, most = cast(TreeLabels, space).shallowest, space.depth
        return f"{super().note(space, labels)}, paths of {f'{least} to {most}' if least < most else most} levels"

    def model_noun(self, classes: int, pairs: bool) -> str:
        """A hierarchical classifier."""
        return f"hierarchical text classifier with {classes} classes" + " for text pairs" * pairs


def _nodes(levels: np.ndarray) -> np.ndarray:
    """(classes, depth) names on each level -> (classes, depth - 1) nodes: paths down to each level but the last."""
    upper = [np.unique(levels[:, : depth + 1], axis=0, return_inverse=True)[1] for depth in range(levels.shape[1] - 1)]
    return np.stack([nodes.reshape(-1) for nodes in upper], axis=1)


KIND = Tree()
