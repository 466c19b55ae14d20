"""Number all texts that phases may see and tokenise them once; test rows are excluded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeAlias, cast

import numpy as np

from phasefit.data.stored_texts import JoinedTexts, StoredTexts, join_texts
from phasefit.data.table import Table
from phasefit.errors import DataError
from phasefit.events import Event, Stage
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.encoder.long_texts import Long
from phasefit.models.model import Model
from phasefit.models.tokens.tokens import Tokens
from phasefit.phases.contract import PhaseData
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.recipe import Recipe
from phasefit.runs.fitting.token_notes import token_notes
from phasefit.seeds import generator

Texts: TypeAlias = list[str] | JoinedTexts  # to which texts are added


@dataclass(frozen=True)
class Place:
    """The numbers of the rows of one table or one task."""

    prepared: Prepared
    train: np.ndarray
    validation: np.ndarray
    unlabelled: np.ndarray


def index_rows(
    model: Model, prepared: Prepared, recipe: Recipe, seed: int, listen: Callable[[Event], None]
) -> PhaseData:
    """The rows of a run, or of all its tasks; other texts of pairs and triples are numbered after all rows."""
    own_rows = _own_rows(prepared)
    texts, places, others = _numbered(prepared)
    if recipe.prompt is not None:
        model.encoder.set_template(recipe.prompt)
    set_max_length(model.encoder, recipe.max_length, prepared, seed)
    if recipe.long is not None:
        model.encoder.set_long(cast(Long, recipe.long))
    listen(Stage("tokenising"))
    tokens = model.encoder.tokenise(texts)
    for note in token_notes(tokens, model.encoder):
        listen(note)
    data_of_places = [_data(place, texts, tokens, others) for place in places]
    if not prepared.tasks:
        return data_of_places[0]
    tasks = dict(zip(prepared.tasks, data_of_places[len(own_rows) :], strict=True))
    whole = data_of_places[0] if own_rows else _texts_of(tasks.values(), _data(places[0], texts, tokens, None))
    weights = _weights_of(tasks.values()) if not own_rows else whole.weights
    return replace(
        whole, space=prepared.space, codes=np.full(len(texts), -1), values=None, tasks=tasks, weights=weights
    )


def every_text(prepared: Prepared) -> Sequence[str]:
    """All texts, in the order that `index_rows` numbers them."""
    return _numbered(prepared)[0]


def row_texts(prepared: Prepared, rows: np.ndarray) -> list[tuple[str, ...]]:
    """The text of each row and, for pairs and triples of a single table, its other texts."""
    texts, _, others = _numbered(prepared)
    if others is None or not _own_rows(prepared):
        return [(texts[row],) for row in rows.tolist()]
    return [(texts[row], *(texts[other] for other in others[row].tolist() if other >= 0)) for row in rows.tolist()]


def task_numbers(prepared: Prepared) -> np.ndarray:
    """The index of the task of each text of `every_text`; -1 without a task."""
    texts, places, others = _numbered(prepared)
    numbers = np.full(len(texts), -1, dtype=np.int64)
    for number, place in enumerate(places[len(_own_rows(prepared)) :] if prepared.tasks else ()):
        rows = np.concatenate([place.train, place.validation, place.unlabelled]).astype(np.int64)
        numbers[rows] = number
        if others is not None:
            other_rows = others[rows]
            numbers[other_rows[other_rows >= 0]] = number
    return numbers


def _numbered(prepared: Prepared) -> tuple[Texts, list[Place], np.ndarray | None]:
    sides = [side for one in (prepared, *prepared.tasks.values()) for table in _tables(one) for side in table.sides]
    texts: Texts = JoinedTexts() if any(isinstance(side, StoredTexts | JoinedTexts) for side in sides) else []
    places = [_placed(one, texts) for one in (*_own_rows(prepared), *prepared.tasks.values())]
    others = index_others([table for place in places for table in _tables(place.prepared)], texts)
    return texts, places, others


def _own_rows(prepared: Prepared) -> list[Prepared]:
    """The rows that belong to no task: all of them, or those of the [before] table."""
    return [] if prepared.tasks and not prepared.before else [prepared]


def _tables(prepared: Prepared) -> list[Table]:
    return [table for table in (prepared.train, prepared.validation, prepared.unlabelled) if table is not None]


def _placed(prepared: Prepared, texts: Texts) -> Place:
    """Add its texts to `texts` and return their numbers."""
    numbers = []
    for table in (prepared.train, prepared.validation, prepared.unlabelled):
        numbers.append(np.arange(len(texts), len(texts) + len(table or ())))
        texts.extend([] if table is None else table.texts)
    return Place(prepared, *numbers)


def _data(place: Place, texts: Sequence[str], tokens: Tokens, others: np.ndarray | None) -> PhaseData:
    prepared = place.prepared
    codes, values = np.full(len(texts), -1, dtype=np.int64), prepared.space.none(len(texts))
    for rows, table in ((place.train, prepared.train), (place.validation, prepared.validation)):
        codes[rows], values[rows] = prepared.codes(table), prepared.values(table)
    own = others if any(table.others for table in _tables(prepared)) else None
    parts = (place.train, place.validation, place.unlabelled)
    of_pairs = own is not None and prepared.train.labels is not None
    weights = _weights(place, len(texts))
    return PhaseData(texts, tokens, codes, prepared.space, *parts, own, values, of_pairs, weights=weights)


def _weights(place: Place, texts: int) -> np.ndarray | None:
    """The weights of training rows, with a mean of 1, so that learning rates keep their meaning; other rows have 1."""
    own = place.prepared.train.weights
    if own is None:
        return None
    if not own.any():
        raise DataError("all training rows have sample_weight 0; give some of them a weight above 0")
    weights = np.ones(texts, dtype=np.float32)
    weights[place.train] = own / own.mean()
    return weights


def _weights_of(tasks: Iterable[PhaseData]) -> np.ndarray | None:
    """The weights of the rows of all tasks; None if no task has any."""
    known = [task.weights for task in tasks if task.weights is not None]
    return np.prod(known, axis=0, dtype=np.float32) if known else None


def _texts_of(tasks: Iterable[PhaseData], like: PhaseData) -> PhaseData:
    """Every text of the tasks as a separate row, for phases that need only texts."""
    known = list(tasks)

    def texts(part: str) -> np.ndarray:
        rows = [getattr(task, part) for task in known]
        others = [task.others[own].ravel() for task, own in zip(known, rows, strict=True) if task.others is not None]
        every_row = np.concatenate([*rows, *others]).astype(np.int64)
        return np.asarray(every_row[every_row >= 0])

    nothing = np.empty(0, dtype=np.int64)
    return replace(like, train=texts("train"), validation=texts("validation"), unlabelled=nothing, others=None)


def index_others(tables: Sequence[Table], texts: Texts) -> np.ndarray | None:
    """Add the other texts of pairs and triples to `texts` and return their numbers, by row; None if there are none."""
    width = max(len(table.others) for table in tables)
    if not width:
        return None
    rows, extra = len(texts), sum(len(table) * len(table.others) for table in tables)
    numbers = np.full((rows + extra, width), -1, dtype=np.int64)
    first = 0
    for table in tables:
        for place, side in enumerate(table.others):
            numbers[first : first + len(table), place] = np.arange(len(texts), len(texts) + len(table))
            texts.extend(side)
        first += len(table)
    return numbers


def set_max_length(encoder: Encoder, wanted: int | str, prepared: Prepared, seed: int) -> None:
    """`model` keeps the maximum length, a number sets it; `auto` is 1.2 times the longest of a tenth of all texts, and
    `train` 1.2 times the longest training text."""
    if isinstance(wanted, int):
        encoder.max_length = wanted
    elif wanted != "model":
        texts = _training_texts(prepared) if wanted == "train" else _some_texts(every_text(prepared), seed)
        limit = encoder.position_limit
        longest = int(encoder.tokenise(texts, max_length=limit).lengths.max())
        encoder.max_length = max(min(ceil(1.2 * longest), limit), 8)


def _some_texts(texts: Sequence[str], seed: int) -> list[str]:
    rows = generator(seed, "max_length").permutation(len(texts))[: max(len(texts) // 10, min(len(texts), 100))]
    return [texts[row] for row in rows]


def _training_texts(prepared: Prepared) -> Sequence[str]:
    tables = [one.train for one in (*_own_rows(prepared), *prepared.tasks.values())]
    return join_texts([side for table in tables for side in table.sides])
