"""A saved model that is quick and whose output for a text does not depend on other texts, and commands that use it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from phasefit.data.labels import label_space
from phasefit.kinds.decision import Decision
from phasefit.models.tfidf.model import LinearWeights, TfidfHead, TfidfModel
from phasefit.runs.results import save_model

TERMS = ("bad", "good", "good day", "the", "na")


def save_small(folder: Path, reject_below: float = 0.45) -> Path:
    """The folder of a TF-IDF model with three classes that withholds some predictions."""
    weights = np.random.default_rng(0).normal(size=(len(TERMS), 3)).astype(np.float32)
    head = TfidfHead(TERMS, np.ones(len(TERMS), np.float32), LinearWeights(weights, np.zeros(3, np.float32)))
    model = TfidfModel(head, label_space(["no", "yes", "ünïcode 🙂"]))
    model.decisions["default"] = Decision(reject_below=reject_below)
    save_model(model, folder)
    return folder


def invoke(*words: object) -> Result:
    """Run a command line."""
    return CliRunner().invoke(app, list(map(str, words)), prog_name="phasefit")


def content(folder: Path) -> dict[str, bytes]:
    """The files of an output folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
