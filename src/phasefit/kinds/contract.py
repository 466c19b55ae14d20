"""LabelKind: everything that differs between label kinds; `data.labels.kinds` has the part that reads labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
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
    """The options of a recipe for the loss of a head."""

    @property
    def class_weights(self) -> str: ...
    @property
    def label_smoothing(self) -> float: ...
    @property
    def focal(self) -> float: ...
    @property
    def upper_levels(self) -> float: ...


class LabelKind(LabelFormat):
    """One label kind. Its methods receive the label space and the data that they work on.

    `values` are labels as losses and metrics see them (`LabelSpace.values`); `outputs` are a head's predictions, one
    row each: (n, classes) probabilities, or (n, 1) numbers.
    """

    judged: ClassVar[str]  # the main metric, by its name in metrics.json
    watch: ClassVar[str]  # the metric that selects weights unless a recipe names another
    headline: ClassVar[tuple[str, ...]]  # the metrics that a report shows first
    scored_as: ClassVar[tuple[str, ...]] = ()  # other kinds whose registered metrics apply to these labels
    graded: ClassVar[bool] = False  # whether two labels may agree partially
    loss_options: ClassVar[tuple[str, ...]] = ()  # the LOSS_OPTIONS that have an effect
    weighs_rows: ClassVar[bool] = False  # whether its loss accepts weights of rows (`sample_weight`)
    no_reject: ClassVar[str] = ""  # why predictions cannot be withheld; empty if they can

    # --- training -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def loss(self, space: LabelSpace, train: np.ndarray, options: LossOptions) -> HeadLoss:
        """The loss of a head; `train` are the values of the training rows."""

    def refusal(self, option: str) -> str | None:
        """Why an option of the loss does not apply to these labels; None if it does."""
        if option in self.loss_options:
            return None
        if option == "upper_levels":
            return f"upper_levels applies only to tree labels, and these are of kind '{self.name}'; remove it"
        why = f"the loss of kind '{self.name}' does not use it" if self.has_classes else "the labels are scores"
        return f"{option} applies only to classes, and {why}; remove it"

    def frequencies(self, train: np.ndarray) -> np.ndarray | None:
        """The class probabilities that a new head starts from; None for the default initialisation."""
        return None

    def likeness(self, space: LabelSpace, values: np.ndarray, train: np.ndarray) -> np.ndarray | None:
        """The similarity of the two texts of each pair according to its label, from 0 to 1; None if unknown."""
        return None

    # --- scores while training ----------------------------------------------------------------------------------------

    @property
    def metric_groups(self) -> tuple[str, ...]:
        """The groups of the metric registry that apply to these labels."""
        return (self.name, *self.scored_as)

    @property
    def watchable(self) -> tuple[str, ...]:
        """The metrics that a phase may watch."""
        return watchable_names(*self.metric_groups)

    @abstractmethod
    def quick(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """The metrics that a phase may watch, cheap enough for every validation."""

    def validate(self, values: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """The scores of one evaluation, including those that plugins add."""
        return self.quick(values, outputs) | added_scores(self.metric_groups, values, outputs, watched=True)

    def check_watch(self, name: str, where: str) -> str:
        """The metric to watch; `auto` is the default of this kind."""
        if name == "auto":
            return self.watch
        if name not in self.watchable:
            known = ", ".join(self.watchable)
            raise RecipeError(f"{where}: cannot watch '{name}' with labels of kind '{self.name}'; use one of {known}")
        return name

    def contributions(self, values: np.ndarray, outputs: np.ndarray) -> np.ndarray | None:
        """What each row contributes to the main metric, (n,), to measure the noise of score differences; see
        `metrics.paired`. None: unknown, so that all differences count."""
        return None

    # --- outputs and answers ------------------------------------------------------------------------------------------

    @abstractmethod
    def outputs(self, logits: Tensor, space: LabelSpace) -> np.ndarray:
        """Probabilities or scores from a head's logits."""

    def activation(self, logits: Tensor, space: LabelSpace) -> Tensor:
        """The same as a torch operation, which an exported graph contains."""
        raise NotImplementedError(f"labels of kind '{self.name}' cannot be exported")

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
        """The decision rule, chosen on validation rows, and notes that describe it; `watch` is the watched metric."""
        return Decision(), []

    @abstractmethod
    def answers(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Label | None]:
        """The predicted label of each row; None if it is withheld."""

    def predicted_codes(self, outputs: np.ndarray, decision: Decision) -> list[list[int]]:
        """The codes of the predicted classes of each row; empty lists if labels have no classes."""
        return [[] for _ in outputs]

    # --- scores -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def metrics(self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray) -> dict[str, Any]:
        """The metrics of a split for `metrics.json`; classes unknown to the model have outputs of 0."""

    def evaluate(
        self, space: LabelSpace, decision: Decision, values: np.ndarray, outputs: np.ndarray
    ) -> dict[str, Any]:
        """`metrics` plus those of plugins; the space may end with classes unknown to the model."""
        outputs = self.widened(np.asarray(outputs, dtype=np.float64), space)
        return self.metrics(space, decision, values, outputs) | added_scores(self.metric_groups, values, outputs)

    def widened(self, outputs: np.ndarray, space: LabelSpace) -> np.ndarray:
        """The outputs with a column of zeros for each class unknown to the model."""
        missing = len(space) - outputs.shape[1] if self.has_classes else 0
        return np.hstack([outputs, np.zeros((len(outputs), missing), dtype=outputs.dtype)])

    # --- tables -------------------------------------------------------------------------------------------------------

    def columns(self, space: LabelSpace, every_class: bool = True) -> list[str]:
        """The columns that `predict` adds: the prediction, its probability, and that of each class."""
        each = [f"probability_{name}" for name in space.names] if every_class else []
        return ["prediction", "probability", *each]

    @abstractmethod
    def cells(self, outputs: np.ndarray, space: LabelSpace, decision: Decision) -> list[Sequence[object] | np.ndarray]:
        """The contents of these columns; the first holds the predictions, None if one is withheld."""

    # --- rows ---------------------------------------------------------------------------------------------------------

    def class_sizes(self, space: LabelSpace, values: np.ndarray) -> np.ndarray | None:
        """The number of rows of each class; None if labels have no classes."""
        return np.bincount(values, minlength=len(space))

    def class_names(self, labels: Sequence[Label]) -> set[str]:
        """The names of the classes in these labels."""
        return set(map(label_name, labels))

    def check_table(self, space: LabelSpace, where: str) -> None:
        """Raise a LabelError if the label space of a table cannot be what the user meant."""

    def check_same(self, space: LabelSpace, levels: Sequence[str]) -> None:
        """Raise a LabelError if the rows have other levels than the model to continue from."""

    def reading(self, space: LabelSpace) -> dict[str, Any]:
        """The fields of LabelReading that read such labels again."""
        return {"kind": self.name}

    def trainable(self, held: dict[str, np.ndarray], labels: Sequence[Label]) -> dict[str, np.ndarray]:
        """The rows to hold out, by split, without those needed to train every class."""
        return held

    # --- words --------------------------------------------------------------------------------------------------------

    def note(self, space: LabelSpace, labels: Sequence[Label]) -> str:
        """A note that describes the labels; their kind may have been detected."""
        return f"labels: kind '{self.name}', {len(space)} classes"

    def group_noun(self, space: LabelSpace) -> str:
        """What a group in `LabelSpace.groups` is called."""
        return "class"

    def model_noun(self, classes: int, pairs: bool) -> str:
        """What a model that predicts such labels is called."""
        return f"text classifier with {classes} classes" + " for text pairs" * pairs
