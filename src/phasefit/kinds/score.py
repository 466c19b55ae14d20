"""A number per text or text pair, or a level on a scale of named levels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phasefit.data.checks import Place
from phasefit.data.labels import LabelSpace, ScoreLabels
from phasefit.data.labels.reading import LabelReading
from phasefit.data.labels.score import are_scores, read_score
from phasefit.data.positives import Positives, scored_positives
from phasefit.data.table import Label
from phasefit.errors import LabelError
from phasefit.kinds.contract import LabelKind, LossOptions
from phasefit.kinds.decision import Decision
from phasefit.metrics.paired import correlation_contributions
from phasefit.metrics.regression import quick_regression, regression_metrics

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.kinds.losses import HeadLoss


class Score(LabelKind):
    """The head predicts one number, in standard units of the training rows."""

    name = "score"
    space = ScoreLabels
    answer = "number"
    options = ("levels",)
    made_of = float
    judged = "pearson"
    watch = "pearson"
    headline = ("pearson", "spearman", "mae", "r2", "quadratic_kappa", "accuracy")
    weighs_rows = True
    no_reject = "scores have no probabilities"

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Decimal numbers; if they are text, many different ones."""
        return are_scores(different)

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Numbers, or names of levels as their positions on the scale."""
        return [read_score(value, place, row, how.levels) for row, value in enumerate(values)]

    def build(self, labels: Sequence[Label], levels: Sequence[str] = ()) -> LabelSpace:
        """The scale of these scores."""
        space = ScoreLabels.of(labels, levels)
        if len(set(labels)) < 2:
            raise LabelError("all scores are the same; there is nothing to learn")
        return space

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """Pairs with high scores."""
        return scored_positives(labels)

    def likeness(self, space: LabelSpace, values: np.ndarray, train: np.ndarray) -> np.ndarray | None:
        """The scores, scaled to 0 to 1 by the lowest and the highest of the training rows."""
        low, high = float(train.min()), float(train.max())
        return np.asarray(np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0))

    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """The squared error in standard units."""
        from phasefit.kinds.losses import HeadLoss
        from phasefit.objectives.head_losses import SquaredError

        scale = cast(ScoreLabels, space)
        return HeadLoss(SquaredError(), learned=lambda values: scale.standard(values).astype(np.float32))

    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Correlations and errors."""
        return quick_regression(values, outputs)

    def contributions(self, values: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
        """The influence of each row on the correlation."""
        return correlation_contributions(values, outputs[:, 0])

    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """The scores themselves."""
        return cast(ScoreLabels, space).from_standard(logits.cpu().double().numpy())

    def activation(self, logits: Tensor, space: LabelSpace) -> Tensor:
        """The scores themselves."""
        scale = cast(ScoreLabels, space)
        return logits * scale.spread + scale.mean

    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The score, or the nearest level."""
        scale, scores = cast(ScoreLabels, space), outputs[:, 0].tolist()
        return [scale.level_of(score) for score in scores] if scale.levels else scores

    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """Levels are also scored as classes."""
        return regression_metrics(values, outputs, space.names)

    def columns(self, space: LabelSpace, every_class: bool = True) -> list[str]:
        """The score; with levels, the level and then the score."""
        return ["prediction", "score"] if len(space) else ["prediction"]

    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """Scores, or levels and the scores they come from."""
        return [self.answers(outputs, space, decision), *([outputs[:, 0]] if len(space) else [])]

    def class_sizes(self, space: LabelSpace, values: np.ndarray) -> np.ndarray | None:
        """There are no classes."""
        return None

    def class_names(self, labels: Sequence[Label]) -> set[str]:
        """There are no classes."""
        return set()

    def check_same(self, space: LabelSpace, levels: Sequence[str]) -> None:
        """Scores on another scale cannot be learned by the same head."""
        if tuple(space.names) != tuple(levels):
            expected, given = ", ".join(space.names) or "none", ", ".join(levels) or "none"
            raise LabelError(
                f"the levels of the model are {expected} and those of the table {given}; they must be the same, in the "
                "same order"
            )

    def reading(self, space: LabelSpace) -> dict[str, Any]:
        """Includes the levels."""
        return {"levels": tuple(space.names), "kind": self.name}

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """Describes the scale."""
        scale = cast(ScoreLabels, space)
        what = f"a scale of {len(space)} levels"
        if not len(space):
            what = f"mean {scale.mean:.3g}, standard deviation {scale.spread:.3g}"
        return f"labels: scores (kind 'score'), {what}"

    def group_noun(self, space: LabelSpace) -> str:
        """A level, or a range of scores."""
        return "level" if len(space) else "range of scores"

    def model_noun(self, classes: int, pairs: bool) -> str:
        """A model that predicts scores or levels."""
        what = f"one of {classes} levels" if classes else "a score"
        return f"model that predicts {what} for {'text pairs' if pairs else 'texts'}"


KIND = Score()
