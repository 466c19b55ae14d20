"""The words that led to the most confident mistakes, or to the largest errors of scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phasefit.explain import Explanation, deletion_test, explain_texts
from phasefit.explain.occlusion import MOST_PARTS
from phasefit.kinds import kind_of
from phasefit.models.predictor import TASK, Predictor
from phasefit.report.facts.held_out import HeldOut
from phasefit.report.facts.rows import Mistake, ScoreError, largest_errors, mistakes

if TYPE_CHECKING:
    from phasefit.report.facts.run import RunFacts

MOST = 10  # texts of a report
CANDIDATES = 50  # mistakes to choose them from: very long texts are left out
WORK = 40_000  # words that pass through the model, about, so that the report takes seconds and not minutes


@dataclass(frozen=True)
class MistakeRow:
    """A mistake and the words that led to it."""

    explanation: Explanation
    true: str
    predicted: str
    row: int  # in the table that was read, starting at 1

    @property
    def strongest(self) -> str:
        """The strongest words with their weights, for those who do not see the colours."""
        words = [f"{word.text[:30]} {word.weight:+.2f}" for word in self.explanation.strongest[:4]]
        return ", ".join(words)


@dataclass(frozen=True)
class MistakeWords:
    """The words of some mistakes, and how they were tested."""

    rows: tuple[MistakeRow, ...]
    test: str  # a sentence
    method: str
    unit: str
    failure: str = ""  # why there are none


def mistake_words(run: RunFacts, model: Predictor) -> dict[str, MistakeWords]:
    """The words that led to the mistakes of each task; nothing for a model that was refitted after it was scored."""
    if run.metrics.get("refit") or run.kind == "none" or not model.heads:
        return {}
    tasks = list(run.prepared.tasks) or [TASK]
    most = max(1, MOST // len(tasks))
    words = {task: _words_or_failure(run.held_out(task), model, task, most) for task in tasks[:MOST]}
    return {task: own for task, own in words.items() if own is not None}


def _words_or_failure(held: Sequence[HeldOut], model: Predictor, task: str, most: int) -> MistakeWords | None:
    """The words, or why they could not be computed: the rest of the report does not depend on them."""
    try:
        return _words(held, model, task, most)
    except Exception as error:  # noqa: BLE001 - a model of a plugin may raise anything
        return MistakeWords((), "", "", "", f"{type(error).__name__}: {error}")


def _words(held: Sequence[HeldOut], model: Predictor, task: str, most: int) -> MistakeWords | None:
    if not held:
        return None
    last = held[-1]
    has_classes = kind_of(last.space).has_classes
    rows: Sequence[Mistake | ScoreError]
    rows = mistakes(last, CANDIDATES) if has_classes else largest_errors(last, CANDIDATES)
    affordable = list(_affordable(rows, most))
    shown = []
    for one in affordable:
        text: Any = one.texts[0] if len(one.texts) == 1 else (one.texts[0], one.texts[1])
        label = _explained_label(one, last) if isinstance(one, Mistake) else None
        found = explain_texts(model, [text], task=task, label=label)
        shown.append(MistakeRow(found[0], *_answers(one), one.row))
    if not shown:
        return None
    test = deletion_test(model, [row.explanation for row in shown])
    first = shown[0].explanation
    return MistakeWords(tuple(shown), test.sentence, first.method, first.unit)


def _affordable(rows: Sequence[Mistake | ScoreError], most: int) -> Iterator[Mistake | ScoreError]:
    """The first rows whose explanation takes a bounded time."""
    work = count = 0
    for row in rows:
        words = sum(len(text.split()) for text in row.texts)
        work_of_row = words * min(words, MOST_PARTS)
        if count == most or not words or work + work_of_row > WORK:
            continue
        work, count = work + work_of_row, count + 1
        yield row


def _explained_label(mistake: Mistake, held: HeldOut) -> str | None:
    """The label of the mistake: the predicted one or, with several labels, the most confident mistake."""
    name = mistake.label.rpartition(", ")[0] if mistake.label else mistake.predicted.removesuffix(" (withheld)")
    return name if name in held.space.names else None


def _answers(row: Mistake | ScoreError) -> tuple[str, str]:
    if isinstance(row, Mistake):
        return row.true, row.predicted
    return row.true_level or f"{row.true:.3f}", row.predicted_level or f"{row.predicted:.3f}"
