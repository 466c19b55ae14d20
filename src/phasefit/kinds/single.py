"""One class per text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phasefit.data.checks import Place, check_labels
from phasefit.data.labels import LabelSpace, SingleLabels
from phasefit.data.labels.reading import LabelReading
from phasefit.data.positives import Positives, is_positive, named_positives, positive_names
from phasefit.data.table import Label
from phasefit.errors import LabelError
from phasefit.kinds.contract import LabelKind, LossOptions
from phasefit.kinds.decision import ABSTAINED, Decision
from phasefit.metrics.calibration import (
    best_temperature,
    calibration_bins,
    calibration_error,
    selective,
    threshold_for,
)
from phasefit.metrics.classification import classification_metrics
from phasefit.metrics.scores import quick_scores

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.kinds.losses import HeadLoss


class Single(LabelKind):
    """A name or a number per text; classes share one probability."""

    name = "single"
    space: ClassVar[type[LabelSpace]] = SingleLabels
    answer = "class"
    judged = "accuracy"
    watch = "macro_f1"
    headline = (
        *("accuracy", "macro_f1", "weighted_f1", "hierarchical_f1", "roc_auc", "ece"),
        *("answered", "accuracy_answered"),
    )
    trusted = "accuracy"
    loss_options: ClassVar[tuple[str, ...]] = ("class_weights", "label_smoothing", "focal")

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Names and whole numbers."""
        labels = check_labels(values, place)
        if isinstance(labels[0], tuple):
            raise LabelError(
                f"{place.name}: labels of several levels are of kind 'tree', not 'single'; give one --label"
            )
        return labels

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """Names such as yes and no."""
        return named_positives(labels)

    def likeness(self, space: LabelSpace, values: np.ndarray, train: np.ndarray) -> np.ndarray | None:
        """1 for names that mean yes, 0 for those that mean no."""
        if not positive_names(space.classes):
            return None
        return np.asarray(np.array([is_positive(label) for label in space.classes])[values])

    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """Cross-entropy; balanced weights are inverse class sizes, scaled so that the mean over rows is 1."""
        from phasefit.kinds.losses import HeadLoss
        from phasefit.objectives.head_losses import CrossEntropy

        weights = None
        if options.class_weights == "balanced":
            counts = np.bincount(train, minlength=len(space)).clip(1)
            weights = len(train) / (len(space) * counts)
        return HeadLoss(CrossEntropy(options.label_smoothing, options.focal), weights)

    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Of the most probable class."""
        return quick_scores(values, outputs)

    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """Their softmax."""
        return np.asarray(logits.cpu().double().softmax(dim=1).numpy())

    def decide(
        self, space: LabelSpace, values: np.ndarray, outputs: np.ndarray, *, calibrate: bool, reject: float = 0.0
    ) -> tuple[Decision, list[str]]:
        """A temperature, and a probability below which nothing is answered."""
        decision, notes = Decision(), []
        if calibrate:
            decision = Decision(best_temperature(values, outputs))
            notes.append(calibration_note(decision.temperature))
        if reject:
            sure = decision.calibrated(outputs)
            decision = replace(decision, reject_below=threshold_for(reject, sure))
            withheld = int((decision.answers(sure) < 0).sum())
            least, rows = decision.reject_below, f"{withheld:,} of the {len(sure):,} validation rows"
            notes.append(f"a prediction less probable than {least:.3f} is withheld: {rows}")
        return decision, notes

    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The most probable class."""
        codes = decision.answers(outputs) if len(outputs) else np.empty(0, dtype=np.int64)
        return [None if code == ABSTAINED else space.classes[code] for code in codes.tolist()]

    def predicted_codes(self, outputs: np.ndarray, decision: Decision) -> list[list[int]]:
        """One code, or none where the answer is withheld."""
        return [[code] if code != ABSTAINED else [] for code in decision.answers(outputs).tolist()]

    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """With what calibration changed, and what abstaining gains, where the model does either."""
        scores = classification_metrics(values, outputs, space.names, self.paths(space))
        if decision.temperature != 1:
            before = calibration_bins(values, decision.uncalibrated(outputs))
            scores["ece_uncalibrated"] = calibration_error(before)
        if decision.reject_below:
            scores |= selective(values, decision.answers(outputs))
        return scores

    def paths(self, space: LabelSpace) -> list[tuple[Any, ...]] | None:
        """The path of each class, where classes are paths of a tree."""
        return None

    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """Labels as they were given where they share one plain type, else as they are written."""
        plain = len({type(label) for label in space.classes}) == 1 and not isinstance(space.classes[0], tuple)
        written: Sequence[object] = space.classes if plain else space.names
        labels = [None if code < 0 else written[code] for code in decision.answers(outputs).tolist()]
        return [labels, outputs.max(axis=1), *outputs.T]


def calibration_note(temperature: float) -> str:
    """What calibration found."""
    was = "too sure" if temperature > 1 else "not sure enough"
    return f"probabilities: the head was {was}; calibrated on validation, temperature {temperature:.2f}"


KIND = Single()
