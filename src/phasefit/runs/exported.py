"""An exported folder in place of a run, for commands that only predict or embed; all others are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.kinds import kind_of
from phasefit.models.exported import ExportedModel, ExportFacts, exported_only, read_export
from phasefit.prepare.base import TableReading
from phasefit.runs.run import Run

if TYPE_CHECKING:
    from phasefit.models.model import Model


@dataclass(frozen=True)
class ExportedRun(Run):
    """A folder that `phasefit export` wrote; its manifest has the heads only."""

    facts: ExportFacts = field(kw_only=True)

    @classmethod
    def open(cls, folder: str | Path) -> ExportedRun:
        """Open an exported folder; its files are checked when the model is loaded."""
        facts = read_export(Path(folder).expanduser())
        return cls(folder, {"heads": {task: head.config() for task, head in facts.heads.items()}}, facts=facts)

    def table(self, task: str | None = None) -> TableReading:
        """How labels are read; an exported folder does not know the columns of the training table."""
        spaces = self.facts.spaces
        if not spaces:
            return TableReading()
        space = spaces.get(task or "") or next(iter(spaces.values()))
        return TableReading(None, kind_of(space).reading(space))

    @cached_property
    def spaces(self) -> dict[str, LabelSpace]:
        """The label space of each task."""
        return self.facts.spaces

    @cached_property
    def trained_texts(self) -> np.ndarray:
        """None: they are not exported."""
        return np.empty(0, np.int64)

    @property
    def has_encoder(self) -> bool:
        """False: the encoder is part of a graph that cannot be trained or taken apart."""
        return False

    def check_encoder(self) -> NoReturn:
        """Raise: what needs an encoder needs the run."""
        raise exported_only(self.source)

    def check_embeds(self) -> None:
        """Every exported folder embeds."""

    def predictor(self, device: str = "auto", threads: int | None = None) -> ExportedModel:
        """Its model."""
        return ExportedModel.load(self.folder, device=device, threads=threads)

    def embedder(self, device: str = "auto") -> ExportedModel:
        """Its model."""
        return self.predictor(device)

    def model(self, device: str = "auto") -> Model:
        """Raise: there is no encoder."""
        raise exported_only(self.source)
