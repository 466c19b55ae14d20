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


SLIGHT = 1.1  # a temperature within this factor of 1 is called slightly over- or underconfident


class Single(LabelKind):
    """A name or a number per text; the probabilities of all classes sum to 1."""

    name = "single"
    space: ClassVar[type[LabelSpace]] = SingleLabels
    answer = "class"
    judged = "accuracy"
    watch = "macro_f1"
    headline = (
        *("accuracy", "macro_f1", "weighted_f1", "hierarchical_f1", "roc_auc", "ece"),
        *("answered", "accuracy_answered"),
    )
    weighs_rows = True
    loss_options: ClassVar[tuple[str, ...]] = ("class_weights", "label_smoothing", "focal")

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Names and whole numbers."""
        labels = check_labels(values, place)
        if isinstance(labels[0], tuple):
            raise LabelError(
                f"{place.name}: labels with several levels are of kind 'tree', not 'single'; give --label only once"
            )
        return labels

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """Pairs labelled with names such as yes."""
        return named_positives(labels)

    def likeness(self, space: LabelSpace, values: np.ndarray, train: np.ndarray) -> np.ndarray | None:
        """1 for names that mean yes, 0 for names that mean no."""
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
        """Scores of the most probable class."""
        return quick_scores(values, outputs)

    def contributions(self, values: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
        """Whether each row is right."""
        return np.asarray(outputs.argmax(axis=1) == values)

    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """The softmax of the logits."""
        return np.asarray(self.activation(logits.cpu().double(), space).numpy())

    def activation(self, logits: Tensor, space: LabelSpace) -> Tensor:
        """The softmax of the logits."""
        return logits.softmax(dim=1)

    def decide(
        self,
        space: LabelSpace,
        values: np.ndarray,
        outputs: np.ndarray,
        *,
        calibrate: bool,
        reject: float = 0.0,
        watch: str = "",
    ) -> tuple[Decision, list[str]]:
        """A temperature, and a probability below which predictions are withheld."""
        decision, notes = Decision(), []
        if calibrate:
            decision = Decision(best_temperature(values, outputs))
            notes.append(calibration_note(decision.temperature))
        if reject:
            calibrated = decision.calibrated(outputs)
            decision = replace(decision, reject_below=threshold_for(reject, calibrated))
            withheld = int((decision.answers(calibrated) < 0).sum())
            least, rows = decision.reject_below, f"{withheld:,} of the {len(calibrated):,} validation rows"
            notes.append(f"predictions with a probability below {least:.3f} are left empty ({rows})")
        return decision, notes

    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The most probable class."""
        codes = decision.answers(outputs) if len(outputs) else np.empty(0, dtype=np.int64)
        return [None if code == ABSTAINED else space.classes[code] for code in codes.tolist()]

    def predicted_codes(self, outputs: np.ndarray, decision: Decision) -> list[list[int]]:
        """One code, or none if the prediction is withheld."""
        return [[code] if code != ABSTAINED else [] for code in decision.answers(outputs).tolist()]

    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """Adds the calibration error before calibration and the scores of answered rows, where they apply."""
        scores = classification_metrics(values, outputs, space.names, self.paths(space))
        if decision.temperature != 1:
            before = calibration_bins(values, decision.uncalibrated(outputs))
            scores["ece_uncalibrated"] = calibration_error(before)
        if decision.reject_below:
            scores |= selective(values, decision.answers(outputs))
        return scores

    def paths(self, space: LabelSpace) -> list[tuple[Any, ...]] | None:
        """The path of each class; None if classes are not paths of a tree."""
        return None

    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """Labels in their own type if all classes share one, otherwise their names."""
        plain = len({type(label) for label in space.classes}) == 1 and not isinstance(space.classes[0], tuple)
        written: Sequence[object] = space.classes if plain else space.names
        labels = [None if code < 0 else written[code] for code in decision.answers(outputs).tolist()]
        return [labels, outputs.max(axis=1), *outputs.T]


def calibration_note(temperature: float) -> str:
    """The result of calibration in a sentence."""
    shown = f"{temperature:.2f}"
    if shown == "1.00":
        return "probabilities calibrated on validation (temperature 1.00: no change)"
    was = "overconfident" if temperature > 1 else "underconfident"
    slightly = "slightly " if 1 / SLIGHT < temperature < SLIGHT else ""
    return f"probabilities calibrated on validation (temperature {shown}: {slightly}{was})"


KIND = Single()
