"""Saving a model into a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from phasefit.models.model import Model
from phasefit.models.storage import write_model
from phasefit.runs.folder import RunFolder


def save_model(model: Model, folder: Path, *, overwrite: bool = False, facts: Mapping[str, Any] | None = None) -> None:
    """Save a model into a folder of its own, complete with its manifest, which `facts` are written into too."""
    target = RunFolder(folder, overwrite=overwrite)
    try:
        target.begin({"model": model.encoder.name})
        target.finish(write_model(model, folder) | dict(facts or {}))
    except BaseException:
        target.abandon()
        raise
