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
    """As one class per text, with what the levels above the last add."""

    name = "tree"
    space = TreeLabels
    options = ("tree",)
    made_of = tuple
    graded = True
    loss_options = (*Single.loss_options, "upper_levels")
    likeness = LabelKind.likeness

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Tuples."""
        return any(isinstance(value, tuple) for value in values)

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Tuples, columns of levels, or names that are split at a separator."""
        labels = check_labels(values, place, paths=True)
        return labels if isinstance(labels[0], tuple) else split_paths(labels, how.tree or "/", place)

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """Paths do not say it."""
        return None

    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """Cross-entropy, a share of it that of the upper levels."""
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
        """Paths of one level are no tree."""
        if space.depth == 1:
            raise LabelError(
                f"{where}: labels are to be paths of a tree, and none has a second level (the first is "
                f"'{space.names[0]}'); --tree says what separates levels, --label given again names a column for each"
            )

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """With the levels."""
        least, most = cast(TreeLabels, space).shallowest, space.depth
        return f"{super().note(space, labels)}, paths of {f'{least} to {most}' if least < most else most} levels"

    def model_noun(self, classes: int, pairs: bool) -> str:
        """Paths."""
        return f"text classifier of {classes} paths through a tree" + " of pairs of texts" * pairs


def _nodes(levels: np.ndarray) -> np.ndarray:
    """(classes, depth) names on each level -> (classes, depth - 1) nodes: paths down to each level but the last."""
    upper = [np.unique(levels[:, : depth + 1], axis=0, return_inverse=True)[1] for depth in range(levels.shape[1] - 1)]
    return np.stack([nodes.reshape(-1) for nodes in upper], axis=1)


KIND = Tree()
