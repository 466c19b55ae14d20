"""The registry of label kinds, and what `data` knows of a kind; `phasefit.kinds` has the kinds and all the rest.

`data` looks kinds up by name: the modules are imported when a kind is first asked for, and never by `data` itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from phasefit.data.labels.space import LabelSpace, plain
from phasefit.data.table import Label
from phasefit.errors import LabelError
from phasefit.registry import Registry

if TYPE_CHECKING:
    from phasefit.data.checks import Place
    from phasefit.data.labels.reading import LabelReading
    from phasefit.data.positives import Positives


class LabelFormat(ABC):
    """How labels of one kind are recognised, read and coded."""

    name: ClassVar[str]
    space: ClassVar[type[LabelSpace]]
    answer: ClassVar[Literal["class", "set", "number"]]  # what a text gets: one class, any number of them, a number
    options: ClassVar[tuple[str, ...]] = ()  # the fields of LabelReading that are about this kind
    made_of: ClassVar[type | None] = None  # the Python type that labels of this kind alone have once they are read

    @property
    def has_classes(self) -> bool:
        """Whether a label names classes."""
        return self.answer != "number"

    def recognises(self, values: Sequence[Any], different: Collection[Any]) -> bool:
        """Whether labels that nobody named a kind for are of this one; `different` are those that are not missing."""
        return False

    @abstractmethod
    def read(self, values: Sequence[Any], place: Place, how: LabelReading) -> list[Label]:
        """The labels of a table's rows, checked; `place` names rows in messages."""

    def build(self, labels: Sequence[Label], levels: Sequence[str] = ()) -> LabelSpace:
        """The space of these labels; `levels` are the names of scores 0, 1, 2 ..."""
        space = self.build_classes(labels)
        if len(space) < 2:
            problem = f"is only one class, '{space.names[0]}'" if len(space) else "are no labels"
            raise LabelError(f"there {problem}; a classifier needs at least two classes")
        return space

    def build_classes(self, labels: Sequence[Label]) -> LabelSpace:
        """The space of all classes that occur, however few."""
        types = {type(part) for label in labels if type(label) is not str for part in _parts(plain(label))}
        if {bool, int} <= types:  # True equals 1, so one of them would be lost
            raise LabelError("labels mix true/false with numbers; give them one type")
        return self.space.build(labels)

    def positives(self, labels: Sequence[Label]) -> Positives | None:
        """Which labels of pairs say that two texts belong together; None where they say nothing about it."""
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
USUAL = "single"  # the kind of labels that no other kind recognises


def _parts(label: Any) -> tuple[Any, ...]:
    return tuple(label) if isinstance(label, tuple | frozenset) else (label,)
