"""A Run: a finished run or a saved model, opened once. Imports torch only to load the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.control_characters import one_line
from phasefit.data.columns import Columns
from phasefit.data.labels import LabelSpace, spaces_from_json
from phasefit.data.task_file import NAME
from phasefit.errors import DataError, ModelError
from phasefit.files.atomic import read_json
from phasefit.files.integrity import PHASES, check_files, check_small_files
from phasefit.files.manifest import MANIFEST, read_manifest
from phasefit.hub.download import local_source
from phasefit.models.exported import is_export
from phasefit.models.tfidf.storage import is_tfidf, load_tfidf, no_encoder
from phasefit.prepare.base import Base, TableReading
from phasefit.recipes import Recipe, parse_recipe
from phasefit.runs.fitting.kept_phases import kept_phase
from phasefit.runs.saved_facts import AGAIN, check_manifest, check_metrics
from phasefit.runs.trained_texts import read_seen

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.models.predictor import Predictor


@dataclass(frozen=True)
class Run:
    """The manifest of a run folder and its other files, each read on first use.

    A plain encoder (a folder or a hub id) has an empty manifest.
    """

    source: str | Path
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """Open a finished run or a saved model; anything else is refused, and so are damaged files.

        A model on the hub (`hub:owner/name[@revision]`) is downloaded.
        """
        folder = local_source(folder)
        manifest = read_manifest(Path(folder).expanduser())
        check_manifest(folder, manifest)
        run = cls(folder, manifest)
        check_small_files(run.folder, run.manifest)
        return run

    @classmethod
    def open_model(cls, source: str | Path) -> Run:
        """Open a finished run, a saved model, an export or a plain encoder; a model on the hub is downloaded."""
        source = local_source(source)
        if (Path(source).expanduser() / MANIFEST).is_file():
            return cls.open(source)
        if is_export(source):
            from phasefit.runs.exported import ExportedRun

            return ExportedRun.open(source)
        return cls(source)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path(self.source).expanduser()

    @property
    def is_encoder(self) -> bool:
        """Whether it is a plain encoder, not a run."""
        return not self.manifest

    @property
    def heads(self) -> dict[str, dict[str, Any]]:
        """The configuration of its heads, by task."""
        heads = self.manifest.get("heads")
        if not isinstance(heads, Mapping):
            return {}
        for task in heads:
            if not NAME.fullmatch(str(task)):
                raise ModelError(
                    f"the model in '{self.source}' is damaged: '{one_line(task)}' cannot be the name of a task; train "
                    "or save it again"
                )
        return {str(task): dict(head) for task, head in heads.items()}

    @property
    def only_embeds(self) -> bool:
        """Whether it is a run without a head."""
        return self.manifest.get("heads") == {}

    def takes_pairs(self, task: str | None = None) -> bool:
        """Whether its head, or that of the given task, reads pairs of texts."""
        heads = self.heads
        return bool(heads) and bool((heads.get(task or "") or next(iter(heads.values()))).get("pair"))

    def table(self, task: str | None = None) -> TableReading:
        """How its training table, or that of the given task, was read."""
        facts = self._data(task)
        saved = facts.get("columns")
        columns = saved if isinstance(saved, Mapping) else {}
        labels = {"kind": facts.get("kind"), **{name: columns.get(name) for name in ("tree", "separator")}}
        labels["levels"] = tuple(columns.get("levels") or ())
        if not columns:
            return TableReading(None, labels)
        texts = str(columns["text"]), tuple(columns.get("labels", ())), tuple(columns.get("others", ()))
        return TableReading(Columns(*texts), labels)

    @cached_property
    def spaces(self) -> dict[str, LabelSpace]:
        """The label space of each task."""
        try:
            return spaces_from_json(read_json(self.folder / "labels.json"))
        except DataError as error:
            raise ModelError(f"'{self.source}': labels.json is damaged ({error}); {AGAIN}") from error

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """metrics.json; empty for a model saved from Python."""
        path = self.folder / "metrics.json"
        return check_metrics(path, read_json(path)) if path.is_file() else {}

    @cached_property
    def recipe(self) -> Recipe | None:
        """The recipe of the run; None for a model saved from Python."""
        path = self.folder / "recipe.toml"
        if not path.is_file():
            return None
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ModelError(f"'{path}' is damaged ({error}); train or save the model again") from error
        return parse_recipe(text, name=path.stem, where=str(path))

    @cached_property
    def trained_texts(self) -> np.ndarray:
        """The hashes of its training texts and pairs."""
        return read_seen(self.folder)

    def base(self, name: str | None = None) -> Base | None:
        """The base for a run that continues from it; None without a classifier."""
        if self.is_encoder or not self.spaces:
            return None
        only = next(iter(self.spaces.values())) if len(self.spaces) == 1 else None  # ambiguous with several tasks
        tables = {task: self.table(task) for task in self.spaces}
        return Base(name or str(self.source), only, self.trained_texts, self.spaces, self.table(), tables)

    def kept_phase(self, name: str) -> Path | None:
        """The folder of the encoder after a phase, checked for damage; None if it was not saved."""
        folder = kept_phase(self.folder, name) if Path(name).name == name else None
        if folder is not None:
            check_files(self.folder, self.manifest, f"{PHASES}/{name}")
        return folder

    @property
    def has_encoder(self) -> bool:
        """Whether it has an encoder; a TF-IDF model has none."""
        return not is_tfidf(self.manifest)

    def check_encoder(self) -> None:
        """Raise a ModelError if it has no encoder."""
        if not self.has_encoder:
            raise no_encoder(self.source)

    def check_embeds(self) -> None:
        """Raise a ModelError if it cannot embed texts."""
        self.check_encoder()

    def predictor(self, device: str = "auto", threads: int | None = None) -> Predictor:
        """Its model, with or without an encoder; `threads` is the number of CPU threads of this process."""
        if threads is not None:
            from phasefit.training.device import set_threads

            set_threads(threads)
        return self.model(device) if self.has_encoder else load_tfidf(self.folder, self.manifest)

    def embedder(self, device: str = "auto") -> Predictor:
        """Its model, which embeds; ModelError without an encoder."""
        return self.model(device)

    def model(self, device: str = "auto") -> Model:
        """Its model, on a device; ModelError without an encoder."""
        from phasefit.models.storage import load_model

        return load_model(self.source, device, self.manifest or None)

    def _data(self, task: str | None) -> Mapping[str, Any]:
        facts = self.manifest.get("data")
        tasks = facts.get("tasks") if isinstance(facts, Mapping) else None
        if isinstance(tasks, Mapping):
            facts = tasks.get(task or "") or (next(iter(tasks.values())) if len(tasks) == 1 else None)
        return facts if isinstance(facts, Mapping) else {}
