"""The files of an exported folder next to the graph: manifest, tokenizer, card and, if requested, training texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.control_characters import one_line
from phasefit.data.table import Label, Table
from phasefit.errors import DataError, RunError
from phasefit.export.figures import Figures, Precision
from phasefit.files import system
from phasefit.files.atomic import make_folders, new_folder
from phasefit.files.integrity import CLUTTER, sha256
from phasefit.files.links import refuse_controls
from phasefit.files.manifest import EXPORTED_TEXTS, EXPORTED_VECTORS
from phasefit.models.encoder.long_texts import MOST_WINDOWS
from phasefit.seeds import generator

if TYPE_CHECKING:
    from phasefit.export.graph import Graph
    from phasefit.models.model import Model
    from phasefit.runs.run import Run

FORMAT = 1
MANIFEST, TOKENIZER, CARD = "export.json", "tokenizer.json", "README.md"
ENGINE_FILES = {"onnx": ("model.onnx",), "openvino": ("model.xml", "model.bin")}
MOST_TEXTS = 20_000


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is not empty, unless it is an export and may be overwritten."""
    refuse_controls(folder)
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RunError(f"{folder} is a file or a link; give another folder with -o")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not _was_exported(folder):
        raise RunError(f"{folder} holds files that are not an exported model; give another folder with -o")
    if not overwrite:
        raise RunError(f"{folder} exists already; give another folder with -o, or replace it with --overwrite")
    if (other := _other_file(folder)) is not None:
        raise RunError(
            f"{folder} also holds '{one_line(other)}', which is not part of the export and would be deleted; move it "
            "elsewhere, or give another folder with -o"
        )


def _was_exported(folder: Path) -> bool:
    """Whether the manifest is one that `phasefit export` writes: only such a folder is ever replaced."""
    content = _manifest(folder)
    return isinstance(content.get("format"), int) and "engine" in content


def _manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; empty if there is none that can be read."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _other_file(folder: Path) -> str | None:
    """The first file or folder in an exported folder that the export did not write."""
    files = _manifest(folder).get("files")
    ours = {MANIFEST, CARD, *(files if isinstance(files, dict) else ())}
    names = sorted(path.name for path in folder.iterdir())
    return next((name for name in names if name not in ours and not CLUTTER.fullmatch(name)), None)


def describe(run: Run, model: Model, graph: Graph, engine: str, precision: Precision) -> dict[str, Any]:
    """The manifest without files and checks."""
    from phasefit import __version__

    encoder = model.encoder
    name = Path(encoder.name).name if Path(encoder.name).is_absolute() else encoder.name
    return {
        "format": FORMAT,
        "phasefit": __version__,
        "model": name,
        "run": run.folder.resolve().name,
        "engine": engine,
        "precision": precision,
        "tokens": {
            "max_length": encoder.max_length,
            "long": encoder.long,
            "most_windows": MOST_WINDOWS if encoder.long == "windows" else 1,
            "truncation_side": encoder.tokenizer.truncation_side,
            "pad": encoder.tokenizer.pad_token_id or 0,
            "prompt": encoder.prompt,
            "inputs": graph.inputs,
        },
        "dimension": encoder.dimension,
        "tasks": {
            str(task): {
                "kind": model.space_of(task).kind,
                "pair": model.head(task).pair,
                "space": model.space_of(task).to_json(),
                "decision": model.decision(task).to_json(),
                "output": output,
            }
            for task, output in zip(model.heads, graph.outputs[1:], strict=True)
        },
    }


def write_tokenizer(model: Model, folder: Path) -> None:
    """Write the tokenizer without truncation and padding, which the manifest describes."""
    from tokenizers import Tokenizer

    backend = Tokenizer.from_str(model.encoder.tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    (folder / TOKENIZER).write_text(backend.to_str(), encoding="utf-8")


def write_manifest(
    folder: Path, facts: Mapping[str, Any], figures: Figures | None = None, *, forced: bool = False
) -> dict[str, Any]:
    """Write the manifest with the checksums of all other files."""
    files = {
        path.name: {"sha256": sha256(path), "size": path.stat().st_size}
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }
    checks = {} if figures is None else {**figures.to_json(), "forced": forced}
    content = {**facts, "files": files, "checks": checks}
    (folder / MANIFEST).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return content


def check_texts(run: Run) -> None:
    """Refuse to write training texts if no task reads single texts."""
    if run.heads and all(head.get("pair") for head in run.heads.values()):
        raise DataError(
            "--with-texts writes single texts with their embeddings, and this run compares pairs; remove it"
        )


def write_texts(model: Model, tables: Mapping[str, Table], folder: Path) -> int:
    """Write training texts with labels, and their embeddings as float16; returns their number."""
    rows: list[dict[str, Any]] = []
    texts: list[str] = []
    for task, table in tables.items():
        if len(model.heads) and model.head(task).pair is not None:
            continue
        own = table if len(table) <= MOST_TEXTS else table.take(_sample(len(table)))
        texts += own.texts
        labels: Sequence[Label | None] = own.labels or [None] * len(own)
        of = {"task": task} if len(tables) > 1 else {}
        rows += [{**of, "text": text, "label": _plain(label)} for text, label in zip(own.texts, labels, strict=True)]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / EXPORTED_TEXTS).write_text(lines, encoding="utf-8")
    np.save(folder / EXPORTED_VECTORS, model.embed(texts).astype(np.float16), allow_pickle=False)
    return len(rows)


def publish(source: Path, target: Path) -> None:
    """Copy a complete folder to its place, atomically."""
    try:
        make_folders(target.parent)
        with new_folder(target) as temporary:
            for path in sorted(source.iterdir(), key=lambda path: path.name == MANIFEST):  # the manifest last
                system.create(temporary / path.name)
                system.write(temporary / path.name, partial(shutil.copyfile, path))
    except OSError as error:
        raise RunError(f"the export cannot be written to {target}: {error.strerror or error}") from error


def _plain(label: Label | None) -> Any:
    if isinstance(label, frozenset):
        return sorted(label, key=str)
    return list(label) if isinstance(label, tuple) else label


def _sample(rows: int) -> np.ndarray:
    return np.sort(generator(0, "export", "texts").permutation(rows)[:MOST_TEXTS])
