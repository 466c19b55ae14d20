"""Explanations in a terminal and as columns of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phasefit.cli.console import printable, stderr, stdout
from phasefit.cli.predict import show_predictions
from phasefit.cli.progress import counting
from phasefit.cli.tables import new_table
from phasefit.explain import deletion_test, explain_texts, to_json
from phasefit.explain.html import largest_weight, level
from phasefit.kinds import kind_of
from phasefit.kinds.multi import written_set
from phasefit.predicting.columns import add_predictions, column_names

if TYPE_CHECKING:
    import pandas as pd
    from rich.text import Text

    from phasefit.data.labels import LabelSpace
    from phasefit.data.table import Table
    from phasefit.explain import DeletionTest, Explanation, Neighbour, TrainingVectors
    from phasefit.models.predictor import Predictor

AT_ONCE = 256  # rows that are explained before their words become JSON
TESTED = 200  # explanations of a file that are tested by deleting words
SHOWN_WORDS = 12  # of a text in its table
BAR = 12  # characters of the longest bar
# Blue and orange differ for colour-blind people too; without colours, strong words are bold or underlined.
STYLES = {
    True: ("", "blue", "bold blue", "bold white on blue", "bold white on blue"),
    False: (
        "",
        "dark_orange3",
        "underline dark_orange3",
        "underline black on dark_orange",
        "underline black on dark_orange",
    ),
}


def show_explanations(
    model: Predictor,
    texts: Sequence[Any],
    task: str,
    vectors: TrainingVectors | None,
    count: int,
    *,
    label: str | None,
    method: str,
    batch_size: int,
) -> None:
    """Print texts with their predictions, coloured words, the test of the words, and the nearest training texts."""
    explanations = explain_texts(model, texts, task=task, label=label, method=method, batch_size=batch_size)
    neighbours = [] if vectors is None else vectors.nearest(texts, count)
    console = stdout()
    show_predictions(model, texts, model.decision(task), task)
    for row in range(len(texts)):
        for one in (one for one in explanations if one.row == row):
            console.print(_coloured(one), soft_wrap=True)
            console.print(_headline(one), soft_wrap=True)
            for note in one.notes:
                console.print(f"({note})", soft_wrap=True)
            if one.read:
                console.print(_words_table(one))
        if neighbours and neighbours[row]:
            console.print(_nearest_table(neighbours[row]))
    if vectors is not None and vectors.training.note:
        console.print(f"nearest training texts: {vectors.training.note}", soft_wrap=True)
    if any(one.read for one in explanations):
        tested = deletion_test(model, explanations, batch_size=batch_size)
        console.print(f"Test of these words: {tested.sentence}.", soft_wrap=True)


def _headline(one: Explanation) -> str:
    """What is explained, with its probability, and what is predicted if that differs."""
    if one.label is None:
        level = one.prediction[0] if one.prediction else ""
        shown = f"{one.score:.3f}"
        return f"score {shown}" if level in ("", f"{one.score:g}") else f"{level}, score {shown}"
    predicted = ", ".join(printable(name, 40) for name in one.prediction) or "(none of these)"
    other = "" if one.label in one.prediction else f"; predicted: {predicted}"
    return f"{printable(one.label, 80)} {one.probability:.3f}{other}"


def _coloured(one: Explanation) -> Text:
    """The texts with coloured words, on one line."""
    from rich.text import Text

    from phasefit.control_characters import one_line

    largest, line = largest_weight(one), Text()
    for side, text in enumerate(one.sides):
        if side:
            line.append(" / ")
        end = 0
        for word in (word for word in one.words if word.side == side):
            line.append(one_line(text[end : word.start]))
            end = word.end
            if word.weight is None:
                line.append(one_line(word.text), "dim strike")
            else:
                line.append(one_line(word.text), STYLES[word.weight > 0][level(word.weight, largest)])
        line.append(one_line(text[end:]))
    return line


def _words_table(one: Explanation) -> Any:
    """The strongest words with their weights and bars."""
    table = new_table("word", one.unit, "", right=(1,))
    largest, words = largest_weight(one), one.strongest
    for word in words[:SHOWN_WORDS]:
        weight = word.weight or 0.0
        bar = ("+" if weight > 0 else "-") * round(BAR * abs(weight) / largest) if largest else ""
        table.add_row(printable(word.text, 40), f"{weight:+.2f}", bar)
    if len(words) > SHOWN_WORDS:
        table.add_row(f"{len(words) - SHOWN_WORDS:,} more", "", "")
    return table


def _nearest_table(neighbours: Sequence[Neighbour]) -> Any:
    table = new_table("nearest training texts", "label", "cosine", right=(2,))
    for one in neighbours:
        table.add_row(printable(one.text, 80), printable(one.label, 40), f"{one.similarity:.3f}")
    return table


def new_columns(space: LabelSpace, prefix: str, nearest: bool) -> list[str]:
    """The columns that are added to a table."""
    explained = ["explained"] if kind_of(space).has_classes else []
    added = [*explained, "words", *(["nearest"] if nearest else [])]
    return [*column_names(space, prefix, "none"), *(prefix + name for name in added)]


def explain_table(
    model: Predictor,
    table: Table,
    frame: pd.DataFrame,
    task: str,
    vectors: TrainingVectors | None,
    count: int,
    prefix: str,
    *,
    label: str | None,
    method: str,
    batch_size: int,
    quiet: bool,
) -> tuple[pd.DataFrame, DeletionTest | None]:
    """The frame with the columns of the explanations, and the test of some of them."""
    import numpy as np
    import pandas as pd

    space = model.space_of(task)
    inputs = [one for row, one in enumerate(table.inputs) if table.blank is None or not table.blank[row]]
    outputs = model.predict_outputs(inputs, task=task, batch_size=batch_size) if inputs else None
    outputs = np.empty((0, max(len(space), 1))) if outputs is None else outputs
    predicted = add_predictions(frame, outputs, space, model.decision(task), prefix, "none", table.blank)
    explained: list[str] = []
    words: list[str] = []
    near: list[str] = []
    sample: list[Explanation] = []
    every = max(1, -(-len(inputs) // TESTED))
    with counting("explaining", len(inputs), quiet) as progress:
        for start in range(0, len(inputs), AT_ONCE):
            some = inputs[start : start + AT_ONCE]
            how: dict[str, Any] = {"label": label, "method": method, "batch_size": batch_size, "progress": progress}
            found = explain_texts(model, some, task=task, **how)
            for row in range(len(some)):
                own = [one for one in found if one.row == row]
                explained.append(_labels(own, space))
                words.append(_json_of(own, space))
                if (start + row) % every == 0:
                    sample += own
            if count:
                near += ["" if vectors is None else _compact(one) for one in _nearest(vectors, some, count)]
    added: dict[str, list[str]] = {"explained": explained} if kind_of(space).has_classes else {}
    added |= {"words": words} | ({"nearest": near} if count else {})
    index = frame.index if table.blank is None else frame.index[~table.blank]
    columns = pd.DataFrame({prefix + name: column for name, column in added.items()}, index=index, dtype=object)
    whole = pd.concat([predicted, columns.reindex(frame.index)], axis=1)
    return whole, deletion_test(model, sample, batch_size=batch_size) if sample else None


def _nearest(vectors: TrainingVectors | None, texts: Sequence[Any], count: int) -> Sequence[Any]:
    return [()] * len(texts) if vectors is None else vectors.nearest(texts, count)


def _labels(explanations: Sequence[Explanation], space: LabelSpace) -> str:
    """The explained labels of one row in one cell."""
    names = [one.label for one in explanations if one.label is not None]
    if kind_of(space).answer == "set":
        return written_set(names, space.names) or ""
    return "".join(names)


def _json_of(explanations: Sequence[Explanation], space: LabelSpace) -> str:
    """The words of one row: a list, or a list for each label if a text can have several."""
    if kind_of(space).answer == "set":
        return _compact({one.label: one.words for one in explanations})
    return _compact(explanations[0].words)


def _compact(value: Any) -> str:
    return json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def report_test(tested: DeletionTest | None, quiet: bool) -> None:
    """Print the test of the words of a file; with `quiet` only if they are not better than random ones."""
    if tested is None or (quiet and tested.better):
        return
    many = f"{tested.explanations:,} explanations tested: " if tested.explanations else ""
    stderr().print(f"{many}{tested.sentence}", soft_wrap=True)
