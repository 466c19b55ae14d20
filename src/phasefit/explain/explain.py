"""Explain the predictions of a model for texts: choose a method, and state what limits an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from phasefit.errors import DataError, ModelError, did_you_mean
from phasefit.explain import captum_gradients
from phasefit.explain.occlusion import MOST_PARTS, occlude
from phasefit.explain.reading import Reader, ReadRow
from phasefit.explain.results import Explanation, Word
from phasefit.explain.rows import outputs_of
from phasefit.explain.targets import Task
from phasefit.explain.words import has_unspaced
from phasefit.models.predictor import Predictor, Progress

Method: TypeAlias = Literal["occlusion", "gradients"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT: Method = "occlusion"  # see docs/explain.md for the comparison
MOST_LABELS = 10  # that are explained of one text: each takes as long as the first
CLOSE = 1e-3  # gradients are of the right function if it agrees with the prediction to this share


def explain_texts(
    model: Predictor,
    texts: Sequence[str] | Sequence[tuple[str, str]],
    *,
    task: str | None = None,
    label: Any = None,
    method: str = DEFAULT,
    batch_size: int = 64,
    steps: int | None = None,
    progress: Progress | None = None,
) -> list[Explanation]:
    """The words that mattered for the prediction of each text or pair.

    One explanation per text, or one for each predicted label if a text can have several; `row` is the position of its
    text. The explained label is the predicted one, the most probable one if none is predicted, or `label`. Of many
    predicted labels, the ten most probable ones are explained.
    `steps` of the integration of gradients are chosen by the length of each text unless they are given.
    """
    check_method(model, method)
    about = Task(model, model.known_task(task))
    only = None if label is None else about.code(label)
    if not len(texts):
        return []
    outputs = outputs_of(model, about.name, texts, batch_size)
    reader = Reader(model, about.name)
    rows = [reader.read((text,) if isinstance(text, str) else (text[0], text[1])) for text in texts]
    codes = [own[:MOST_LABELS] for own in about.codes(outputs)] if only is None else [[only] for _ in texts]
    weights: list[list[np.ndarray]]
    methods = [method] * len(rows)
    if method == "gradients":
        weights = _gradients(about, rows, texts, codes, outputs, methods, batch_size, steps, progress)
    else:
        every = occlude(about, rows, batch_size=batch_size, progress=progress)
        weights = [[of_row[:, code] for code in own] for of_row, own in zip(every, codes, strict=True)]
    names = about.predictions(outputs)
    return [
        _explanation(
            about,
            position,
            texts[position],
            rows[position],
            code,
            of_code,
            outputs[position],
            names[position],
            methods[position],
        )
        for position in range(len(rows))
        for code, of_code in zip(codes[position], weights[position], strict=True)
    ]


def check_method(model: Predictor, method: str) -> None:
    """Raise an error if a method is unknown or does not work with this model."""
    if method not in METHODS:
        raise DataError(f"--method {method}: unknown method; {did_you_mean(str(method), METHODS)}")
    if method == "gradients":
        if getattr(model, "encoder", None) is None:
            raise ModelError("--method gradients needs a model with an encoder in torch; use --method occlusion")
        captum_gradients.need_captum()


def _gradients(
    task: Task,
    rows: Sequence[ReadRow],
    texts: Sequence[Any],
    codes: Sequence[Sequence[int]],
    outputs: np.ndarray,
    methods: list[str],
    batch_size: int,
    steps: int | None,
    progress: Progress | None,
) -> list[list[np.ndarray]]:
    """The weights by gradients; by occlusion for rows where the gradients are not those of the prediction.

    That happens if a plugin's kind of labels computes its outputs in another way. `methods` is updated.
    """
    from phasefit.explain.gradients import TokensDiffer, gradients

    weights: list[list[np.ndarray]] = []
    for position, (row, text, own) in enumerate(zip(rows, texts, codes, strict=True)):
        values = task.values(outputs[position : position + 1])[0]
        try:
            found = gradients(task, row, text, own, steps=steps)
        except TokensDiffer:
            found = []
        if len(found) == len(own) and all(
            abs(one.value - values[code]) <= CLOSE * max(1.0, abs(values[code])) or abs(values[code]) > 20
            for one, code in zip(found, own, strict=True)
        ):
            weights.append([one.weights for one in found])
        else:
            methods[position] = "occlusion"
            left_out = occlude(task, [row], batch_size=batch_size)[0]
            weights.append([left_out[:, code] for code in own])
        if progress is not None:
            progress(1)
    return weights


def _explanation(
    task: Task,
    position: int,
    text: Any,
    row: ReadRow,
    code: int,
    weights: np.ndarray,
    outputs: np.ndarray,
    prediction: tuple[str, ...],
    method: str,
) -> Explanation:
    words = tuple(
        Word(
            span.start,
            span.end,
            row.sides[span.side][span.start : span.end],
            float(weight) if read else None,
            span.side,
        )
        for span, weight, read in zip(row.words, weights.tolist(), row.read.tolist(), strict=True)
    )
    label = task.space.names[code] if task.has_classes else None
    return Explanation(
        position,
        text if isinstance(text, str) else (text[0], text[1]),
        task.name,
        label,
        prediction,
        float(outputs[code]) if task.has_classes else None,
        None if task.has_classes else float(outputs[0]),
        words,
        method,
        task.unit,
        tuple(_notes(task, row, prediction, label, method)),
    )


def _notes(task: Task, row: ReadRow, prediction: tuple[str, ...], label: str | None, method: str) -> list[str]:
    """What limits an explanation."""
    notes = []
    if not row.words:
        notes.append("the text has no words")
    if label is not None and not prediction:
        notes.append("the model predicts no label for this text")
    if task.has_classes and len(prediction) > MOST_LABELS:
        notes.append(
            f"the text has {len(prediction)} predicted labels; at most the {MOST_LABELS} most probable are explained"
        )
    if row.cut:
        notes.append(
            f"{row.cut:,} of {len(row.words):,} words have no weight: the text is too long for the model, which does "
            "not read them"
        )
    if has_unspaced(row.sides):
        notes.append("parts of the text are written without spaces: there, each character counts as a word")
    if method == "occlusion" and int(row.read.sum()) > MOST_PARTS:
        notes.append(f"the text has more than {MOST_PARTS} words: neighbouring words are left out together")
    return notes
