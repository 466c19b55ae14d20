"""LabelKind: everything that differs between kinds of labels; `data.labels.kinds` has the part about reading them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from phasefit.data.labels import LabelFormat, LabelSpace
from phasefit.data.table import Label, label_name
from phasefit.errors import RecipeError
from phasefit.kinds.decision import Decision
from phasefit.metrics.registry import added_scores, watchable_names

if TYPE_CHECKING:
    from torch import Tensor

    from phasefit.kinds.losses import HeadLoss

LOSS_OPTIONS = ("upper_levels", "class_weights", "label_smoothing", "focal")


class LossOptions(Protocol):
    """What a recipe says about the loss of a head."""

    @property
    def class_weights(self) -> str: ...
    @property
    def label_smoothing(self) -> float: ...
    @property
    def focal(self) -> float: ...
    @property
    def upper_levels(self) -> float: ...


class LabelKind(LabelFormat):
    """One kind of labels. Its methods are given the label space, and what they are about.

    `values` are what losses and metrics see of labels (`LabelSpace.values`); `outputs` are what a head says of rows,
    one along the first axis: (n, classes) probabilities, or (n, 1) numbers.
    """

    judged: ClassVar[str]  # the metric of metrics.json that a model is judged by
    watch: ClassVar[str]  # the metric that chooses weights, where a recipe names none
    headline: ClassVar[tuple[str, ...]]  # the metrics that a report shows first
    scored_as: ClassVar[tuple[str, ...]] = ()  # kinds whose registered metrics these labels have too
    trusted: ClassVar[str]  # a metric between 0 and 1 whose standard error tells how far scores can be trusted
    graded: ClassVar[bool] = False  # whether two labels may agree in part
    loss_options: ClassVar[tuple[str, ...]] = ()  # those of LOSS_OPTIONS that act
    no_reject: ClassVar[str] = ""  # why no answer can be withheld; nothing where one can

    # --- training -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """What a head learns by; `train` are the values of the training rows."""

    def refusal(self, option: str) -> str | None:
        """Why an option of the loss means nothing for these labels; None where it acts."""
        if option in self.loss_options:
            return None
        if option == "upper_levels":
            return f"upper_levels is about paths of a tree, and labels are of kind '{self.name}'"
        why = f"labels of kind '{self.name}' are learned without it" if self.has_classes else "the labels are scores"
        return f"{option} is about classes, and {why}; leave it out"

    def frequencies(self, train: np.ndarray) -> np.ndarray | None:
        """The probabilities that a fresh head starts at; None: it knows nothing."""
        return None

    def likeness(self, space: LabelSpace, values: np.ndarray, train: np.ndarray) -> np.ndarray | None:
        """How alike labels of pairs say the two texts are, from 0 to 1; None where they do not say it."""
        return None

    # --- scores while training ----------------------------------------------------------------------------------------

    @property
    def metric_groups(self) -> tuple[str, ...]:
        """What the metrics of such labels are registered as metrics of."""
        return (self.name, *self.scored_as)

    @property
    def watchable(self) -> tuple[str, ...]:
        """The metrics that a phase may watch."""
        return watchable_names(*self.metric_groups)

    @abstractmethod
    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """The metrics that a phase may watch, cheap enough for every validation."""

    def validate(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """The scores of one validation, with those that plugins add."""
        return self.quick(values, outputs) | added_scores(self.metric_groups, values, outputs, watched=True)

    def check_watch(self, name: str, where: str) -> str:
        """The metric to watch; `auto` is the usual one."""
        if name == "auto":
            return self.watch
        if name not in self.watchable:
            known = ", ".join(self.watchable)
            raise RecipeError(f"{where}: labels of kind '{self.name}' have no '{name}' to watch; they have {known}")
        return name

    def standard_error(self, scores: Mapping[str, float], rows: int) -> float:
        """The standard error of the trusted metric on N rows."""
        value = min(max(scores[self.trusted], 0.0), 1.0)
        return sqrt(value * (1 - value) / max(rows, 1))

    # --- outputs and answers ------------------------------------------------------------------------------------------

    @abstractmethod
    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """What a head's logits mean."""

    def decide(
        self, space: LabelSpace, values: np.ndarray, outputs: np.ndarray, *, calibrate: bool, reject: float = 0.0
    ) -> tuple[Decision, list[str]]:
        """How a model decides, chosen on validation rows, and what was chosen in words."""
        return Decision(), []

    @abstractmethod
    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The label of each row; None where it is withheld."""

    def predicted_codes(self, outputs: np.ndarray, decision: Decision) -> list[list[int]]:
        """The codes of the classes that each row gets; nothing where labels have none."""
        return [[] for _ in outputs]

    # --- scores -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """Everything `metrics.json` says of a split; classes that the model lacks have outputs of 0."""

    def evaluate(
        self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray
    ) -> dict[str, Any]:
        """`metrics` with those of plugins; the space may end with classes that the model lacks."""
        outputs = self.widened(np.asarray(outputs, dtype=np.float64), space)
        return self.metrics(space, decision, values, outputs) | added_scores(self.metric_groups, values, outputs)

    def widened(self, outputs: np.ndarray, space: LabelSpace) -> np.ndarray:
        """The outputs with a column of zeros for each class that the model lacks."""
        missing = len(space) - outputs.shape[1] if self.has_classes else 0
        return np.hstack([outputs, np.zeros((len(outputs), missing), dtype=outputs.dtype)])

    # --- tables -------------------------------------------------------------------------------------------------------

    def columns(self, space: LabelSpace, every_class: bool = True) -> list[str]:
        """The columns that `predict` adds: the answer, its probability, and that of each class."""
        each = [f"probability_{name}" for name in space.names] if every_class else []
        return ["prediction", "probability", *each]

    @abstractmethod
    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """What stands in these columns; the first are the predictions, None where one is withheld."""

    # --- rows ---------------------------------------------------------------------------------------------------------

    def class_sizes(self, space: LabelSpace, values: np.ndarray) -> np.ndarray | None:
        """Rows of each class; None where there are no classes."""
        return np.bincount(values, minlength=len(space))

    def class_names(self, labels: Sequence[Label]) -> set[str]:
        """The classes that these labels name."""
        return set(map(label_name, labels))

    def check_table(self, space: LabelSpace, where: str) -> None:
        """Refuse a space that a table's labels gave, but that cannot be what was meant."""

    def check_same(self, space: LabelSpace, levels: Sequence[str]) -> None:
        """Refuse rows with other levels than the model to continue from has."""

    def reading(self, space: LabelSpace) -> dict[str, Any]:
        """How such labels are read again, by the fields of LabelReading."""
        return {"kind": self.name}

    def trainable(self, held: dict[str, np.ndarray], labels: Sequence[Label]) -> dict[str, np.ndarray]:
        """The rows to hold out, by split, without those that training needs to know every class."""
        return held

    # --- words --------------------------------------------------------------------------------------------------------

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """The kind of the labels, which may have been found out, and what makes it up."""
        return f"labels: kind '{self.name}', {len(space)} classes"

    def group_noun(self, space: LabelSpace) -> str:
        """What one of `LabelSpace.groups` is."""
        return "class"

    def model_noun(self, classes: int, pairs: bool) -> str:
        """What a model of such labels is."""
        return f"text classifier of {classes} classes" + " of pairs of texts" * pairs
