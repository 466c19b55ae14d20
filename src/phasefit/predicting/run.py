"""Predict or embed in shards, from the sources to the output; repeated after a kill, it does only what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from phasefit.data.columns import Columns
from phasefit.data.io.dialect import Dialect, Dialects, FileReading
from phasefit.data.table_reading import Options as TableOptions
from phasefit.errors import DataError, Interrupted, ModelError, RunError
from phasefit.files.atomic import discard_file, discard_temporaries, discard_tree, make_folders, read_json, write_json
from phasefit.files.integrity import sha256
from phasefit.files.lock import LOCK, acquire_lock, release_lock
from phasefit.predicting.engine import Engine
from phasefit.predicting.inputs import find_inputs
from phasefit.predicting.manifest import Manifest, difference, make_request, read_manifest
from phasefit.predicting.merge import count_lines, merge_shards, merge_skipped
from phasefit.predicting.plan import FilePlan, NoRows, Planned, Planning, plan_file
from phasefit.predicting.shards import MANIFEST as NAME
from phasefit.predicting.shards import Shard
from phasefit.predicting.worker import Job, Options
from phasefit.predicting.writers import PART_ENDINGS, SKIPPED
from phasefit.runs.run import Run

FINISHED = "finished.json"  # in a working folder: the file that was merged from it


@dataclass(frozen=True)
class Request:
    """What the user asks for; `file` None: the output is `folder`, with one file per shard."""

    command: Any  # predict or embed
    run: Run
    sources: tuple[str, ...]
    options: Options
    shard_rows: int
    folder: Path
    file: Path | None
    format: str
    zipped: bool
    threads: int | None = None
    text: tuple[str, ...] = ()
    usual: Columns | None = None
    dialect: Dialect = field(default_factory=Dialect)
    skip: bool = False
    overwrite: bool = False
    usual_threads: int | None = None  # of new output if `threads` is not given; None: as torch chooses


class Listener(Protocol):
    """Receives progress and notes."""

    def note(self, text: str) -> None:
        """Something worth knowing about the input or the output."""
        ...

    def reading(self, name: str, number: int, files: int) -> None:
        """A file is being planned."""
        ...

    def start(self, total: int, done: int) -> None:
        """The rows of all shards, and those of shards that were finished before."""
        ...

    def advance(self, rows: int) -> None:
        """Rows are done."""
        ...


@dataclass
class Summary:
    """Counts of the output, and of the shards of this session."""

    rows: int = 0  # of the input
    skipped: int = 0
    blank: int = 0
    withheld: int = 0
    shards: int = 0
    resumed: int = 0  # shards that were finished before
    warned: bool = False


def run_shards(
    request: Request, engine: Callable[[int | None], Engine], threads: Callable[[], int | None], listen: Listener
) -> Summary:
    """Do what is asked; `engine` makes the engine for a number of threads, `threads` is the number after loading."""
    if request.file is not None and request.folder.is_symlink():
        raise RunError(f"{request.folder} is a symbolic link; remove it")
    inputs = find_inputs(request.sources, request.file or request.folder)
    wanted = make_request(request.command, request.run, _options(request), request.threads, inputs)
    manifest = read_manifest(request.folder, inputs)
    if manifest is not None and (why := difference(manifest.request, wanted)):
        _refuse_or_discard(request, why, manifest, listen)
        manifest = None
    elif manifest is None:
        _check_folder(request)
    if manifest is not None and _is_merged(request):
        discard_tree(request.folder)
        return Summary(rows=sum(plan.rows for plan in manifest.plans), resumed=len(manifest.shards))
    if request.file is not None and request.file.exists() and not request.overwrite:
        raise RunError(f"{request.file} exists already; choose another name, or use --overwrite")
    is_new = manifest is None
    if is_new and request.file is not None and not request.overwrite and os.path.lexists(skipped_file(request.file)):
        raise RunError(f"{skipped_file(request.file)} exists already; choose another output, or use --overwrite")
    if manifest is None:
        planned = list(_plan(request, listen))
        shards = tuple(shard for one in planned for shard in one.shards)
        manifest = Manifest(wanted, tuple(one.plan for one in planned), shards)
    count = request.threads or (request.usual_threads if is_new else manifest.request.get("threads"))
    job = Job(
        request.command,
        str(request.run.source),
        count,
        manifest.plans,
        request.options,
        request.folder,
        request.format,
        request.zipped,
        parts=request.file is not None,
        skip=request.skip,
    )
    runner = engine(count)
    runner.check(job)
    if is_new:
        manifest = replace(manifest, request={**wanted, "threads": count or threads()})
    with _locked(request.folder):
        if is_new:
            manifest.write(request.folder)
        discard_temporaries(request.folder)
        try:
            summary = _execute(job, manifest.shards, runner, listen)
        finally:
            discard_temporaries(request.folder)  # of workers that were lost while they wrote
        if request.file is None:
            summary.skipped = sum(
                count_lines(path) for shard in manifest.shards if (path := job.skipped(shard)).is_file()
            )
        else:
            _merge(request, job, manifest.shards, summary)
    if request.file is not None:
        discard_tree(request.folder)
    return summary


def _options(request: Request) -> dict[str, Any]:
    """Everything that changes the output and that the user can change."""
    return {
        **asdict(request.options),
        "shard_rows": request.shard_rows,
        "text": list(request.text),
        "format": request.format,
        "zipped": request.zipped,
        "one_file": request.file is not None,
        "delimiter": request.dialect.delimiter,
        "encoding": request.dialect.encoding,
    }


def _plan(request: Request, listen: Listener) -> Iterator[Planned]:
    inputs = find_inputs(request.sources, request.file or request.folder)
    columns = TableOptions(text=request.text, need_labels=False, usual=request.usual, sides=request.options.sides)
    asked = Planning(request.shard_rows, request.skip, request.dialect, columns, request.format == "parquet")
    first: Planned | None = None
    readings: list[FileReading | None] = []
    for number, file in enumerate(inputs):
        listen.reading(file.path.name, number, len(inputs))
        try:
            planned = plan_file(number, file, asked)
        except NoRows as error:
            if len(inputs) == 1:
                raise
            listen.note(f"{error}; it is left out")
            yield Planned(FilePlan(file, (), (), 0), (), FileReading(file.path))
            continue
        if planned.reading.assumption:
            listen.note(planned.reading.assumption)
        first = first or planned
        same = (first.plan.columns, first.plan.types) == (planned.plan.columns, planned.plan.types)
        if request.file is not None and not same:
            raise DataError(
                f"{file.path.name} has other columns or types than {first.plan.file.path.name}, so they do not fit "
                "into one file; write to a folder: -o FOLDER/"
            )
        readings.append(planned.reading)
        yield planned
    if first is None:
        raise DataError("the input files have no rows")
    Dialects(request.dialect).check_used(readings, "the input")


def _refuse_or_discard(request: Request, why: str, earlier: Manifest, listen: Listener) -> None:
    """Another manifest: an output folder is refused unless it may be replaced; unfinished work is discarded."""
    if request.file is None and not request.overwrite:
        raise RunError(
            f"{request.folder} holds the output of another command: {why}; choose another folder, or use --overwrite"
        )
    if request.file is not None:
        if request.file.exists() and not request.overwrite:
            raise RunError(f"{request.file} exists already; choose another name, or use --overwrite")
        listen.note(f"unfinished work for {request.file.name} is discarded, because {why}")
        discard_tree(request.folder)
        return
    ours = {f"{shard.name}{ending}" for shard in earlier.shards for ending in PART_ENDINGS}
    discard_file(request.folder / NAME)  # first, so that no shard counts for another manifest
    for path in list(request.folder.iterdir()):
        if path.name in ours:
            discard_file(path)


def _check_folder(request: Request) -> None:
    """Refuse a folder that is not ours to write to."""
    folder = request.folder
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; give the name of a folder")
    if folder.is_dir() and any(path.name != LOCK and not path.name.endswith(".tmp") for path in folder.iterdir()):
        raise RunError(f"the folder {folder} is not empty and has no {NAME}; choose another one")
    parent = folder.absolute().parent
    if request.file is not None and not parent.is_dir():
        raise RunError(f"the folder '{parent}' does not exist; create it first, or choose another one")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        make_folders(folder)
    except OSError as error:
        raise RunError(f"the folder {folder} cannot be created: {error.strerror or error}") from None
    lock = acquire_lock(folder)
    try:
        yield
    finally:
        release_lock(folder, lock)


def _execute(job: Job, shards: Sequence[Shard], engine: Engine, listen: Listener) -> Summary:
    missing = [shard for shard in shards if not job.is_done(shard)]
    rows = sum(shard.rows for shard in shards)
    summary = Summary(rows=rows, shards=len(missing), resumed=len(shards) - len(missing))
    listen.start(rows, rows - sum(shard.rows for shard in missing))
    try:
        for result in engine.run(job, missing, listen.advance):
            summary.blank += result.blank
            summary.withheld += result.withheld
            if result.warning and not summary.warned:
                summary.warned = True
                listen.note(f"warning: {result.warning} (rows of one shard; further warnings suppressed)")
    except KeyboardInterrupt as error:
        done = sum(map(job.is_done, shards))
        left = f"{done:,} of {len(shards):,} shards are finished; repeat the command to resume"
        raise Interrupted(left, getattr(error, "signal", 2)) from None
    return summary


def _merge(request: Request, job: Job, shards: Sequence[Shard], summary: Summary) -> None:
    """Make the file; its hash is noted first, so that a kill before the working folder is removed does no harm."""
    assert request.file is not None
    summary.skipped = merge_skipped(job, shards, skipped_file(request.file))
    if request.overwrite and not summary.skipped:
        discard_file(skipped_file(request.file))  # of the output that is replaced
    merged = request.folder / f"merged.{request.format}"
    merge_shards(job, shards, merged)
    write_json(request.folder / FINISHED, {"sha256": sha256(merged)})
    if request.file.exists() and not request.overwrite:
        raise RunError(
            f"{request.file} was written by another program meanwhile; move it away and repeat the command, or use "
            "--overwrite"
        )
    _move(merged, request.file)


def skipped_file(file: Path) -> Path:
    """The file of rows that were left out of an output file."""
    return file.with_name(f"{file.name}{SKIPPED}")


def _move(merged: Path, out: Path) -> None:
    from phasefit.files.atomic import move

    try:
        move(merged, out)
    except OSError as error:
        raise RunError(
            f"{out} cannot be written: {error.strerror or error}; the result is in {merged.parent}, so repeat the "
            "command to resume"
        ) from error


def _is_merged(request: Request) -> bool:
    """Whether the output file is complete, and only its working folder was not removed."""
    if request.file is None or not (request.folder / FINISHED).is_file() or not request.file.is_file():
        return False
    try:
        content = read_json(request.folder / FINISHED)
    except ModelError:  # damaged: the file is merged again
        return False
    return isinstance(content, dict) and content.get("sha256") == sha256(request.file)
