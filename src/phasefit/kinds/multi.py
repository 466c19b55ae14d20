"""Any number of classes per text: each is a question of its own, with a threshold of its own."""

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
from phasefit.metrics.multi_label import best_multi_temperature, best_thresholds, multi_metrics, quick_multi

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.kinds.losses import HeadLoss

MOST_WEIGHT = 100.0  # of the texts that have a rare label: one text must not drown all others


class Multi(LabelKind):
    """The set of its classes per text; every class has a probability of its own."""

    name = "multi"
    space = MultiLabels
    answer = "set"
    options = ("separator",)
    made_of = frozenset
    judged = "micro_f1"
    watch = "macro_f1"
    headline = ("micro_f1", "macro_f1", "samples_f1", "accuracy", "labels_per_text", "ece")
    trusted = "micro_f1"
    graded = True
    loss_options = ("class_weights", "label_smoothing", "focal")
    no_reject = "a text may get no label as it is"

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Lists, or names joined with bars whose parts come back."""
        return are_sets(values, different)

    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """Lists, lists as cells spell them, or names with a separator between them."""
        return read_sets(values, place, how.separator or SEPARATOR)

    def build(self, labels: Sequence[Label], levels: Sequence[str] = ()) -> LabelSpace:
        """One class is enough: a text has it or not."""
        space = self.build_classes(labels)
        if not len(space):
            raise LabelError("no row has a label; at least one row needs one")
        return space

    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """A sigmoid's cross-entropy per class; balanced weights are the rows without a class over those with it."""
        from phasefit.kinds.losses import HeadLoss
        from phasefit.objectives.head_losses import BinaryCrossEntropy

        weights = None
        if options.class_weights == "balanced":
            having = train.sum(axis=0).clip(1)
            weights = ((len(train) - having) / having).clip(1, MOST_WEIGHT)
        return HeadLoss(BinaryCrossEntropy(options.label_smoothing, options.focal), weights)

    def frequencies(self, train: np.ndarray) -> np.ndarray | None:
        """How many of the training rows have each class."""
        return np.asarray(train.mean(axis=0))

    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """With the best thresholds on these rows."""
        return quick_multi(values, outputs)

    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """Their sigmoids."""
        return np.asarray(logits.cpu().double().sigmoid().numpy())

    def decide(
        self, space: LabelSpace, values: np.ndarray, outputs: np.ndarray, *, calibrate: bool, reject: float = 0.0
    ) -> tuple[Decision, list[str]]:
        """A temperature, and the threshold of each class."""
        temperature = best_multi_temperature(values, outputs) if calibrate else 1.0
        decision = Decision(temperature, thresholds=(0.5,) * len(space))
        notes = [calibration_note(temperature)] if calibrate else []
        chosen = best_thresholds(values, decision.calibrated(outputs))
        low, high = chosen.min(), chosen.max()
        notes.append(
            f"a label is given from a probability of its own on, chosen on validation: {low:.2f} to {high:.2f}"
        )
        return replace(decision, thresholds=tuple(chosen.tolist())), notes

    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The set of all that are probable enough."""
        return list(cast(MultiLabels, space).sets(decision.chosen(outputs)))

    def predicted_codes(self, outputs: np.ndarray, decision: Decision) -> list[list[int]]:
        """All that are probable enough."""
        return [np.flatnonzero(row).tolist() for row in decision.chosen(outputs)]

    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """With what calibration changed, where there is one."""
        thresholds = [*decision.thresholds, *np.full(len(space) - len(decision.thresholds), 0.5)]
        scores = multi_metrics(values, outputs, space.names, thresholds)
        if decision.temperature != 1:
            before = decision.uncalibrated(outputs)
            scores["ece_uncalibrated"] = calibration_error(bins_of(before.ravel(), values.ravel()))
        return scores

    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """The names in one cell, empty where a text gets none; the probability is that of the least probable one."""
        chosen = decision.chosen(outputs)
        written = [written_set([space.names[code] for code in np.flatnonzero(row)], space.names) for row in chosen]
        weakest = np.where(chosen, outputs, np.inf).min(axis=1)
        return [written, np.where(np.isinf(weakest), np.nan, weakest), *outputs.T]

    def class_sizes(self, space: LabelSpace, values: np.ndarray) -> np.ndarray | None:
        """Rows that have each class."""
        return np.asarray(values.sum(axis=0))

    def class_names(self, labels: Sequence[Label]) -> set[str]:
        """Each class of a set for itself."""
        return {label_name(part) for label in labels for part in parts(label)}

    def trainable(self, held: dict[str, np.ndarray], labels: Sequence[Label]) -> dict[str, np.ndarray]:
        """Without rows that have a class which no training row would have."""
        out = {int(row) for rows in held.values() for row in rows}
        known = {part for row, label in enumerate(labels) if row not in out for part in parts(label)}
        kept = {}
        for name, rows in held.items():
            left = []
            for row in rows.tolist():
                own = set(parts(labels[row]))
                if own <= known:
                    left.append(row)
                else:
                    known |= own  # it is trained on, and others like it may be held out
            kept[name] = np.array(left, dtype=np.int64)
        return kept

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """With how many a text has."""
        sizes = [len(label) for label in labels if isinstance(label, frozenset)]
        none = sum(size == 0 for size in sizes)
        without = f"; {none:,} training rows have none" if none else ""
        each = sum(sizes) / max(len(sizes), 1)
        return (
            f"labels: several per text (kind 'multi'), {len(space)} classes, {each:.2f} per text in the mean{without}"
        )

    def model_noun(self, classes: int, pairs: bool) -> str:
        """Any of the labels."""
        return f"text classifier that gives each text any of {classes} labels" + " of pairs of texts" * pairs


def written_set(names: Sequence[str], known: Iterable[str]) -> str | None:
    """Several labels in one cell, joined with a bar; as a JSON list where a class has a bar in its name."""
    if not names:
        return None
    if any(SEPARATOR in name for name in known):
        return json.dumps(list(names), ensure_ascii=False)
    return SEPARATOR.join(names)


KIND = Multi()
