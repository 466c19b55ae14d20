"""All labelled rows of a run as one training table, for refitting."""

from __future__ import annotations

from dataclasses import replace

from phasefit.data.table import Table
from phasefit.runner.prepare import Prepared
from phasefit.runner.splitting import labels_of


def merged(prepared: Prepared) -> Prepared:
    """Train, validation and test rows together; nothing is left to score."""
    tables = [table for table in (prepared.train, prepared.validation, prepared.test) if table is not None]
    texts = [text for table in tables for text in table.texts]
    labels = [label for table in tables for label in labels_of(table)]
    return replace(prepared, train=Table(prepared.train.name, texts, labels), validation=None, test=None)
