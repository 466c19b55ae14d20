"""The registry of label kinds and their interface for `data`; `phasefit.kinds` implements the kinds.

`data` looks kinds up by name and never imports their modules; the registry imports a kind on first use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from phasefit.data.coded_labels import distinct
from phasefit.data.labels.space import LabelSpace, plain
from phasefit.data.table import Label
from phasefit.errors import LabelError
from phasefit.registry import Registry

if TYPE_CHECKING:
    from phasefit.data.checks import Place
    from phasefit.data.labels.reading import LabelReading
    from phasefit.data.positives import Positives


class LabelFormat(ABC):
    """How labels of one kind are recognised, read and encoded."""

    name: ClassVar[str]
    space: ClassVar[type[LabelSpace]]
    answer: ClassVar[Literal["class", "set", "number"]]  # the prediction: one class, any number of them, a number
    options: ClassVar[tuple[str, ...]] = ()  # the fields of LabelReading that apply to this kind
    made_of: ClassVar[type | None] = None  # the Python type of labels after reading, if it is unique to this kind

    @property
    def has_classes(self) -> bool:
        """Whether a label names classes."""
        return self.answer != "number"

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Whether labels without a stated kind are of this kind; `different` are the distinct non-missing labels."""
        return False

    @abstractmethod
    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """The checked labels of a table's rows; `place` names rows in messages."""

    def build(self, labels: Sequence[Label], levels: Sequence[str] = ()) -> LabelSpace:
        """The space of these labels; `levels` are the names of scores 0, 1, 2 ..."""
        space = self.build_classes(labels)
        if len(space) < 2:
            problem = f"is only one class, '{space.names[0]}'" if len(space) else "are no labels"
            raise LabelError(f"there {problem}; a classifier needs at least two classes")
        return space

    def build_classes(self, labels: Sequence[Label]) -> LabelSpace:
        """The space of all classes that occur, with no minimum number."""
        types = {type(part) for label in distinct(labels) if type(label) is not str for part in _parts(plain(label))}
        if {bool, int} <= types:  # True == 1 in Python, so one of them would be lost
            raise LabelError("labels mix true/false with numbers; use one type")
        return self.space.build(labels)

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """The rule for pairs whose texts belong together; None if these labels do not mark them."""
        return None


LABEL_KINDS: Registry[LabelFormat] = Registry(
    "kind of labels",
    "phasefit.kinds",
    LabelError,
    entries={
        "single": "phasefit.kinds.single:KIND",
        "multi": "phasefit.kinds.multi:KIND",
        "tree": "phasefit.kinds.tree:KIND",
        "score": "phasefit.kinds.score:KIND",
    },
    base=LabelFormat,
)
USUAL = "single"  # the default, for labels that no other kind recognises


def _parts(label: Any) -> tuple[Any, ...]:
    return tuple(label) if isinstance(label, tuple | frozenset) else (label,)
