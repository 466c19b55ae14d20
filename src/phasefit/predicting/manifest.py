"""The manifest of an output folder: the model, the options and the input that the shards in it come from.

It is written before the first shard. A folder with another manifest is never added to: its shards would not fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from phasefit.data.io.dialect import checked_dialect
from phasefit.errors import RunError
from phasefit.files.atomic import write_json
from phasefit.files.checked import Count, Document, checked
from phasefit.files.integrity import has_checksums, hash_files, sha256
from phasefit.files.manifest import EXPORT, MANIFEST, versions
from phasefit.predicting.inputs import InputFile
from phasefit.predicting.plan import FilePlan
from phasefit.predicting.shards import MANIFEST as NAME
from phasefit.predicting.shards import Shard
from phasefit.runs.run import Run

FORMAT = 1
WORDS = {
    "command": "the command",
    "model": "the model",
    "versions": "the versions of phasefit or its libraries",
    "options": "the options",
    "threads": "the number of threads",
    "inputs": "the input files",
}
PLURAL = ("versions", "options", "inputs")


class _File(Document):
    columns: tuple[str, ...]
    texts: tuple[str, ...]
    rows: Count
    encoding: str | None
    delimiter: str | None
    quoted: bool
    returns: bool
    types: str


class _Shard(Document):
    file: Count
    first: Count
    rows: Count
    offset: Count
    lines: Count


class _Request(Document):
    threads: Annotated[int, Field(strict=True, ge=1, le=1024)] | None = None  # as many as --threads accepts
    inputs: list[Any] = Field(default_factory=list)


class _Content(Document):
    format: Count
    request: dict[str, Any]
    files: list[Any]
    shards: list[Any]


@dataclass(frozen=True)
class Manifest:
    """What was asked for, and the plan that follows from it."""

    request: Mapping[str, Any]
    plans: tuple[FilePlan, ...]
    shards: tuple[Shard, ...]

    def write(self, folder: Path) -> None:
        """Write it to the output folder."""
        files = [{key: value for key, value in asdict(plan).items() if key != "file"} for plan in self.plans]
        shards = [asdict(shard) for shard in self.shards]
        write_json(folder / NAME, {"format": FORMAT, "request": self.request, "files": files, "shards": shards})


def make_request(
    command: str, run: Run, options: Mapping[str, Any], threads: int | None, inputs: Sequence[InputFile]
) -> dict[str, Any]:
    """Everything that the bytes of the output follow from; as JSON gives it back."""
    request = {
        "command": command,
        "model": model_hash(run),
        "versions": versions(),
        "options": dict(options),
        "threads": threads,
        "inputs": [{"name": file.name, "size": file.size, "version": file.version} for file in inputs],
    }
    same: dict[str, Any] = json.loads(json.dumps(request))
    return same


def model_hash(run: Run) -> str:
    """The hash of a model: of its manifest, which has the checksums of its files, or of all files of an encoder."""
    if (run.folder / MANIFEST).is_file() and not has_checksums(run.manifest):  # an early format
        files = {MANIFEST: sha256(run.folder / MANIFEST), **hash_files(run.folder)}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    for name in (MANIFEST, EXPORT):
        if (run.folder / name).is_file():
            return sha256(run.folder / name)
    from phasefit.models.encoder.locate import locate

    folder, digest = Path(locate(str(run.source))), hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()} {sha256(path)}\n".encode())
    return digest.hexdigest()


def read_manifest(folder: Path, inputs: Sequence[InputFile]) -> Manifest | None:
    """The manifest of a folder; None if there is none. RunError if it is damaged."""
    path = folder / NAME
    if not path.is_file() or path.is_symlink():
        return None
    try:
        content = checked(_Content, json.loads(path.read_text(encoding="utf-8")))
        if content.format != FORMAT:
            raise ValueError(f"format {content.format}")
        files = [checked(_File, _as_tuples(entry)) for entry in content.files]
        shards = tuple(Shard(**checked(_Shard, entry).model_dump()) for entry in content.shards)
        if len(checked(_Request, content.request).inputs) != len(files):
            raise ValueError("there is not one plan per input file")
        for entry in files:
            checked_dialect(entry.delimiter, entry.encoding)
        if _ranges(shards) != [(number, entry.rows) for number, entry in enumerate(files) if entry.rows]:
            raise ValueError("the shards are not the rows of the files")
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged ({error}); choose another output, or remove it") from None
    plans = tuple(FilePlan(file, **entry.model_dump()) for file, entry in zip(inputs, files, strict=False))
    return Manifest(content.request, plans, shards)


def _ranges(shards: Sequence[Shard]) -> list[tuple[int, int]]:
    """The files of the shards and their rows, if the shards of each file are in order and without gaps."""
    ends: dict[int, int] = {}
    for shard in shards:
        if shard.first != ends.get(shard.file, 0) or not shard.rows:
            raise ValueError(f"the shard {shard.name} does not start where the one before it ends")
        ends[shard.file] = shard.first + shard.rows
    return list(ends.items())


def difference(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """A clause on what differs between two requests; empty if nothing does. Threads count only if they are given."""
    for key, words in WORDS.items():
        if key == "threads" and now.get(key) is None:
            continue
        if earlier.get(key) != now.get(key):
            if key == "threads":
                return f"{words} differs ({earlier.get(key)} then)"
            if key == "options" and isinstance(earlier.get(key), Mapping):
                names = {**earlier[key], **now[key]}
                changed = [name for name in names if earlier[key].get(name) != now[key].get(name)]
                return f"{words} differ ({', '.join(map(str, changed))})"
            return f"{words} {'differ' if key in PLURAL else 'differs'}"
    return ""


def _as_tuples(entry: Any) -> Any:
    """Lists as tuples: strict types do not convert them."""
    if not isinstance(entry, dict):
        return entry
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
