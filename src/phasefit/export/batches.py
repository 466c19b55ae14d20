"""Batches of a graph's inputs, to measure its speed and to calibrate its quantisation; long texts have one window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.table import Table
from phasefit.export.graph import WINDOWS

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.models.tokens.tokens import Tokens

Feeds = dict[str, np.ndarray]


def calibration_batches(model: Model, tables: Mapping[str, Table]) -> list[Feeds]:
    """One row of a table per batch, without padding, so that activations are those of real tokens."""
    batches: list[Feeds] = []
    for task, table in tables.items():
        tokens, each = _tokens(model, task, table)
        batches += [feeds(model, tokens, np.arange(row * each, (row + 1) * each)) for row in range(len(tokens) // each)]
    return batches


def timed_batch(model: Model, table: Table, task: str, size: int) -> Feeds:
    """The `size` rows around the median length: batches are sorted by length, so they hardly need padding."""
    tokens, each = _tokens(model, task, table)
    lengths = tokens.lengths.reshape(-1, each).sum(axis=1)
    order = np.argsort(lengths, kind="stable")
    first = max(0, (len(order) - size) // 2)
    places = np.resize(order[first : first + size], size)  # repeated if there are fewer
    return feeds(model, tokens, (places[:, None] * each + np.arange(each)).ravel())


def feeds(model: Model, tokens: Tokens, rows: np.ndarray) -> Feeds:
    """The inputs of the graph for these rows of tokens."""
    batch: Feeds = {name: value.numpy() for name, value in tokens.batch(rows).items()}
    return batch | ({WINDOWS: np.array(1, dtype=np.int64)} if model.encoder.long == "windows" else {})


def _tokens(model: Model, task: str, table: Table) -> tuple[Tokens, int]:
    """The tokens of the rows of a table, those of one row next to each other, and how many sequences a row has.

    A graph with any task of pairs needs an even number of texts.
    """
    from phasefit.models.tokens.rows import tokenise_pairs

    encoder, longest = model.encoder, model.encoder.max_length
    pair = model.head(task).pair if len(model.heads) else None
    if pair == "together":
        rows: Sequence[Any] = table.inputs
        orders = [order for one, other in rows for order in ((one, other), (other, one))]
        return tokenise_pairs(encoder, [one for one, _ in orders], [other for _, other in orders]), 2
    if pair is not None:
        return encoder.tokenise([text for row in table.inputs for text in row]).first(longest), 2
    if any(model.head(other).pair is not None for other in model.heads):
        return encoder.tokenise([text for text in table.texts for _ in range(2)]).first(longest), 2
    return encoder.tokenise(list(table.texts)).first(longest), 1
