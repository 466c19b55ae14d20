"""Any number of classes per text: each is a binary decision with its own threshold."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phasefit.data.checks import Place
from phasefit.data.labels import LabelSpace, MultiLabels
from phasefit.data.labels.multi import SEPARATOR, are_sets, parts, read_sets
from phasefit.data.labels.reading import LabelReading
from phasefit.data.table import Label, label_name
from phasefit.errors import LabelError
from phasefit.kinds.contract import LabelKind, LossOptions
from phasefit.kinds.decision import Decision
from phasefit.kinds.single import calibration_note
from phasefit.metrics.calibration import bins_of, calibration_error
from phasefit.metrics.multi_label import best_multi_temperature, multi_metrics, quick_multi
from phasefit.metrics.paired import f1_contributions
from phasefit.metrics.registry import METRICS
from phasefit.metrics.thresholds import MACRO, shrunk_thresholds

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.kinds.losses import HeadLoss

MOST_WEIGHT = 100.0  # of the texts with a rare label: one text must not dominate all others


class Multi(LabelKind):
    """A set of classes per text; each class has its own probability."""

    name = "multi"
    space = MultiLabels
    answer = "set"
    options = ("separator",)
    made_of = frozenset
    judged = "micro_f1"
    watch = "micro_f1"
    headline = ("micro_f1", "macro_f1", "samples_f1", "accuracy", "labels_per_text", "ece")
    weighs_rows = True
    graded = True
    loss_options = ("class_weights", "label_smoothing", "focal")
    no_reject = "a text can already get no label"

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Lists, or names joined with bars whose parts repeat."""
        return are_sets(values, different)

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Lists, lists written as text, or names joined by a separator."""
        return read_sets(values, place, how.separator or SEPARATOR)

    def build(self, labels: Sequence[Label], levels: Sequence[str] = ()) -> LabelSpace:
        """One class is enough: a text has it or not."""
        space = self.build_classes(labels)
        if not len(space):
            raise LabelError("no row has a label; at least one row needs one")
        return space

    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """Binary cross-entropy per class; balanced weights are the rows without a class divided by those with it."""
        from phasefit.kinds.losses import HeadLoss
        from phasefit.objectives.head_losses import BinaryCrossEntropy

        weights = None
        if options.class_weights == "balanced":
            counts = train.sum(axis=0).clip(1)
            weights = ((len(train) - counts) / counts).clip(1, MOST_WEIGHT)
        return HeadLoss(BinaryCrossEntropy(options.label_smoothing, options.focal), weights)

    def frequencies(self, train: np.ndarray) -> np.ndarray | None:
        """The share of training rows that have each class."""
        return np.asarray(train.mean(axis=0))

    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """With thresholds chosen on these rows."""
        return quick_multi(values, outputs)

    def contributions(self, values: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
        """The influence of each row on micro F1."""
        return f1_contributions(values, outputs >= shrunk_thresholds(values, outputs, self.judged))

    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """The sigmoid of the logits."""
        return np.asarray(self.activation(logits.cpu().double(), space).numpy())

    def activation(self, logits: Tensor, space: LabelSpace) -> Tensor:
        """The sigmoid of the logits."""
        return logits.sigmoid()

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
        """A temperature, and a threshold per class for the watched F1: macro F1, or micro F1 for other metrics."""
        temperature = best_multi_temperature(values, outputs) if calibrate else 1.0
        decision = Decision(temperature, thresholds=(0.5,) * len(space))
        notes = [calibration_note(temperature)] if calibrate else []
        metric = MACRO if (watch or self.watch) == MACRO else self.judged
        chosen = shrunk_thresholds(values, decision.calibrated(outputs), metric)
        bounds = f"{chosen.min():.2f} to {chosen.max():.2f}"
        notes.append(f"each label has its own threshold, chosen on validation for {METRICS[metric].title}: {bounds}")
        return replace(decision, thresholds=tuple(chosen.tolist())), notes

    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The set of classes that reach their thresholds."""
        return list(cast(MultiLabels, space).sets(decision.chosen(outputs)))

    def predicted_codes(self, outputs: np.ndarray, decision: Decision) -> list[list[int]]:
        """All classes that reach their thresholds."""
        return [np.flatnonzero(row).tolist() for row in decision.chosen(outputs)]

    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """Adds the calibration error before calibration, if the model is calibrated."""
        thresholds = [*decision.thresholds, *np.full(len(space) - len(decision.thresholds), 0.5)]
        scores = multi_metrics(values, outputs, space.names, thresholds)
        if decision.temperature != 1:
            before = decision.uncalibrated(outputs)
            scores["ece_uncalibrated"] = calibration_error(bins_of(before.ravel(), values.ravel()))
        return scores

    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """The names in one cell, empty if a text gets none; the probability is that of the least probable label."""
        chosen = decision.chosen(outputs)
        written = [written_set([space.names[code] for code in np.flatnonzero(row)], space.names) for row in chosen]
        weakest = np.where(chosen, outputs, np.inf).min(axis=1)
        return [written, np.where(np.isinf(weakest), np.nan, weakest), *outputs.T]

    def class_sizes(self, space: LabelSpace, values: np.ndarray) -> np.ndarray | None:
        """Rows that have each class."""
        return np.asarray(values.sum(axis=0))

    def class_names(self, labels: Sequence[Label]) -> set[str]:
        """Each class of a set counts separately."""
        return {label_name(part) for label in labels for part in parts(label)}

    def trainable(self, held: dict[str, np.ndarray], labels: Sequence[Label]) -> dict[str, np.ndarray]:
        """Without rows that have a class which no training row would have."""
        held_out = {int(row) for rows in held.values() for row in rows}
        trained = {part for row, label in enumerate(labels) if row not in held_out for part in parts(label)}
        kept = {}
        for name, rows in held.items():
            kept_rows = []
            for row in rows.tolist():
                classes = set(parts(labels[row]))
                if classes <= trained:
                    kept_rows.append(row)
                else:
                    trained |= classes  # this row is trained on, so later rows of these classes may be held out
            kept[name] = np.array(kept_rows, dtype=np.int64)
        return kept

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """Includes the mean number of labels per text."""
        sizes = [len(label) for label in labels if isinstance(label, frozenset)]
        empty = sum(size == 0 for size in sizes)
        without = f"; {empty:,} training rows have no label" if empty else ""
        mean = sum(sizes) / max(len(sizes), 1)
        return f"labels: several per text (kind 'multi'), {len(space)} classes, {mean:.2f} per text on average{without}"

    def model_noun(self, classes: int, pairs: bool) -> str:
        """A multi-label classifier."""
        return f"multi-label text classifier with {classes} labels" + " for text pairs" * pairs


def written_set(names: Sequence[str], known: Iterable[str]) -> str | None:
    """Several labels in one cell, joined with a bar; as a JSON list if a class name contains a bar."""
    if not names:
        return None
    if any(SEPARATOR in name for name in known):
        return json.dumps(list(names), ensure_ascii=False)
    return SEPARATOR.join(names)


KIND = Multi()
