"""An exported folder as a Predictor, without torch. The only file that imports phasefit_runtime, when it is needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from phasefit.data.labels import LabelSpace
from phasefit.errors import DataError, LabelError, MissingExtra, ModelError, PhasefitError, TextsCut
from phasefit.files.manifest import EXPORT
from phasefit.kinds.decision import Decision
from phasefit.models.device import ANYWHERE
from phasefit.models.predictor import TASK, Predictor, Progress

if TYPE_CHECKING:
    from phasefit_runtime import Model as RuntimeModel
    from phasefit_runtime.manifest import Manifest

INSTALL = "pip install ./runtime"  # in a checkout


def is_export(folder: str | Path) -> bool:
    """Whether this is a folder that `phasefit export` wrote."""
    return (Path(folder).expanduser() / EXPORT).is_file()


@dataclass(frozen=True)
class ExportedHead:
    """What is known about a head in the graph."""

    classes: int  # outputs
    pair: str | None

    def config(self) -> dict[str, Any]:
        """Its entry in a manifest."""
        config: dict[str, Any] = {"classes": self.classes}
        return config if self.pair is None else config | {"pair": self.pair}


@dataclass(frozen=True)
class ExportFacts:
    """The heads, label spaces and decisions of an exported folder, read without loading its model."""

    content: Mapping[str, Any]
    heads: dict[str, ExportedHead]
    spaces: dict[str, LabelSpace]
    decisions: dict[str, Decision]


def read_export(folder: Path) -> ExportFacts:
    """The facts of an exported folder; ModelError if it is damaged."""
    _check_installed()
    from phasefit_runtime.manifest import read_manifest

    with _our_errors():
        manifest = read_manifest(folder)
    return _facts(folder, manifest)


def _facts(folder: Path, manifest: Manifest) -> ExportFacts:
    heads = {name: ExportedHead(task.labels.outputs, task.pair) for name, task in manifest.tasks.items()}
    saved = manifest.content["tasks"]
    try:
        spaces = {name: LabelSpace.from_json(saved[name]["space"]) for name in heads}
        decisions = {name: Decision.from_json(saved[name].get("decision") or {}) for name in heads}
    except (LabelError, ValueError) as error:
        raise ModelError(f"'{folder}': {EXPORT} is damaged ({error}); export the run again") from error
    return ExportFacts(manifest.content, heads, spaces, decisions)


class ExportedModel(Predictor):
    """Predicts and embeds with phasefit_runtime; it cannot be trained or saved."""

    def __init__(self, runtime: RuntimeModel) -> None:
        facts = _facts(runtime.folder, runtime.manifest)
        self.runtime = runtime
        self.heads: dict[str, ExportedHead] = facts.heads
        self.spaces = facts.spaces
        self.decisions = facts.decisions
        runtime.on_cut = _warn_cut

    @classmethod
    def load(cls, folder: Path, *, device: str = "auto", threads: int | None = None) -> ExportedModel:
        """Load an exported folder; ModelError if it is damaged."""
        if device not in ANYWHERE:
            raise PhasefitError(f"--device {device}: an exported folder runs on the CPU; use --device cpu or auto")
        if threads is not None and threads < 1:
            raise PhasefitError(f"--threads {threads}: must be at least 1")
        _check_installed()
        from phasefit_runtime import load

        with _our_errors():
            return cls(load(folder, threads))

    def head(self, task: str = TASK) -> ExportedHead:
        """What is known about the head of a task."""
        return self.heads[self.known_task(task)]

    def predict_outputs(
        self,
        texts: Sequence[str] | Sequence[tuple[str, str]],
        *,
        task: str = TASK,
        batch_size: int = 64,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """Probabilities or scores, as the run predicts them."""
        with _our_errors():
            name = self.known_task(task)
            return self.runtime.predict_outputs(texts, name, batch_size=batch_size, progress=progress)

    def embed(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress | None = None) -> np.ndarray:
        """Embeddings (n, d)."""
        with _our_errors():
            return self.runtime.embed(texts, batch_size=batch_size, progress=progress)

    def read_file(self, name: str) -> bytes:
        """The content of a file of the folder, compared with its checksum."""
        with _our_errors():
            return self.runtime.read_file(name)

    def run_graph(self, output: str, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
        """One output of the graph for a batch of token ids."""
        with _our_errors():
            return self.runtime.engine.run(output, feeds)

    def facts(self) -> dict[str, Any]:
        """The name of the encoder and its maximum length; it runs on the CPU."""
        manifest = self.runtime.manifest
        return {"model": manifest.content.get("model"), "device": "cpu", "max_length": manifest.tokens.max_length}

    def write(self, folder: Path) -> NoReturn:
        """Raise: a run folder cannot be made from an exported one."""
        raise exported_only(self.runtime.folder)


def exported_only(folder: str | Path) -> ModelError:
    """The error of everything that needs more than predictions and embeddings."""
    return ModelError(
        f"'{folder}' is an exported folder, which can only predict and embed; use the run that it was exported from"
    )


def _check_installed() -> None:
    try:
        import phasefit_runtime  # noqa: F401
    except ImportError as error:
        if error.name not in ("phasefit_runtime", "tokenizers"):
            raise
        raise MissingExtra(
            f"exported folders need phasefit-runtime; install it from a checkout of phasefit: {INSTALL}"
        ) from None


@contextmanager
def _our_errors() -> Iterator[None]:
    """Errors of the runtime as those of phasefit, with the same sentences."""
    from phasefit_runtime import ExportError, InputError

    try:
        yield
    except ExportError as error:
        raise ModelError(str(error)) from error
    except InputError as error:
        raise DataError(str(error)) from error
    except ModuleNotFoundError as error:
        if error.name != "onnxruntime":
            raise
        raise MissingExtra(
            "exported folders need ONNX Runtime; install it with: pip install 'phasefit[export]'"
        ) from None


def _warn_cut(sentence: str) -> None:
    warnings.warn(sentence, TextsCut, stacklevel=6)
