"""All labelled rows of a run as one training table, for refitting."""

from __future__ import annotations

from dataclasses import replace

from phasefit.data.table import Table
from phasefit.runner.prepare import Prepared
from phasefit.runner.splitting import labels_of


def merged(prepared: Prepared) -> Prepared:
    """Train, validation and test rows together; nothing is left to score."""
    tables = [table for table in (prepared.train, prepared.validation, prepared.test) if table is not None]
    pairs = [pair for table in tables for pair in zip(table.texts, labels_of(table), strict=True)]
    known = [(text, label) for text, label in pairs if prepared.space.knows(label)]  # --unseen keep has others
    texts, labels = [text for text, _ in known], [label for _, label in known]
    return replace(prepared, train=Table(prepared.train.name, texts, labels), validation=None, test=None)
