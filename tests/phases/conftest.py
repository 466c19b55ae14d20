"""A model and rows for every phase."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.models.model import Model
from phasefit.phases.contract import PhaseData
from tiny import fresh_model, make_data, make_table, tree


@pytest.fixture
def model(tiny_folder: Path) -> Model:
    return fresh_model(tiny_folder)


@pytest.fixture
def data(model: Model) -> PhaseData:
    return make_data(model.encoder, *make_table(60), unlabelled=make_table(12, seed=5)[0])


@pytest.fixture
def tree_data(model: Model) -> PhaseData:
    texts, labels = make_table(60, classes=4)
    return make_data(model.encoder, texts, tree(labels))
