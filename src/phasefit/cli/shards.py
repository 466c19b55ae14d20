"""`predict` and `embed` in shards: when that is wanted, what is asked for, and what is reported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import DataError, RunError

if TYPE_CHECKING:
    from phasefit.data.columns import Columns
    from phasefit.predicting.engine import Engine
    from phasefit.predicting.run import Request, Summary
    from phasefit.predicting.worker import Options
    from phasefit.runs.run import Run

ARRAY = "npy"
LARGE, LARGE_ZIPPED = 8 << 20, 2 << 20  # bytes of a text file that is read in shards
LARGE_PARQUET = 1 << 20  # bytes of a Parquet file whose rows are worth counting
WIDTH = 384  # numbers of an embedding, for the size of shards: the model is not loaded yet


def single(files: Sequence[str] | None) -> str | None:
    """The only file, or None for standard input."""
    return files[0] if files else None


def path_of(out: str | None) -> Path | None:
    """The output as a path; None for standard output."""
    return None if out is None else Path(out)


@dataclass(frozen=True)
class Sharding:
    """The options of `predict` and `embed` that concern shards."""

    files: Sequence[str]
    out: str | None
    out_format: str | None
    on_error: str
    shard_rows: int | None
    engine: str
    overwrite: bool
    quiet: bool

    def wanted(self) -> bool:
        """Whether to work in shards: if an option of shards is given, for several files, and for large ones."""
        from phasefit.engines.choice import parse_engine
        from phasefit.engines.ray_cluster import check_reachable

        choice = parse_engine(self.engine)
        option = next((name for name, given in self._given() if given), None)
        if not self.files or self.files[0] == "-":
            if option is not None:
                raise DataError(f"{option} needs input files; standard input is read at once")
            return False
        several = self._is_several
        if (several or option is not None) and self.out is None:
            what = option or "input from several files or an address"
            raise DataError(f"{what} needs an output: -o FILE, or -o FOLDER/ for one file per shard")
        if choice.name == "ray":
            check_reachable(choice)
        return several or option is not None or (self.out is not None and (self._is_folder or _is_large(self.files[0])))

    def run(
        self,
        command: str,
        run: Run,
        options: Options,
        *,
        text: Sequence[str] | None,
        usual: Columns | None,
        threads: int | None,
        dialect: tuple[str | None, str | None],
    ) -> None:
        """Predict or embed, and report the result."""
        from phasefit.cli.inputs import load
        from phasefit.cli.row_progress import RowProgress
        from phasefit.data.io.dialect import checked_dialect
        from phasefit.engines.choice import parse_engine
        from phasefit.engines.ray_cluster import connected
        from phasefit.predicting.engine import Processes, ThisProcess
        from phasefit.predicting.ray_engine import RayActors
        from phasefit.predicting.run import Request, run_shards
        from phasefit.predicting.shards import default_rows

        choice = parse_engine(self.engine)
        file, format, zipped = self._output(command, options.escape_formulas)
        folder = Path(self.out or "") if file is None else file.with_name(f".{file.name}.phasefit")
        width = WIDTH if command == "embed" else sum(map(len, run.spaces.values())) if _has_labels(run) else 1
        request = Request(
            command,
            run,
            tuple(self.files),
            options,
            self.shard_rows or default_rows(width),
            folder,
            file,
            format,
            zipped,
            threads,
            tuple(text or ()),
            usual,
            checked_dialect(*dialect),
            self.on_error == "skip",
            self.overwrite,
            None if choice.is_default else 1,
        )
        stack = ExitStack()

        def engine(count: int | None) -> Engine:
            if choice.name == "ray":
                return RayActors(stack.enter_context(connected(choice)), count or 1)
            if not choice.is_default:
                return Processes(choice.processes)
            return ThisProcess(lambda: load(run, options.device, count, self.quiet))

        with stack, RowProgress("embedding" if command == "embed" else "predicting", self.quiet) as progress:
            summary = run_shards(request, engine, _threads, progress)
        self._report(request, summary)

    def _given(self) -> list[tuple[str, bool]]:
        return [
            ("--shard-rows", self.shard_rows is not None),
            ("--on-error skip", self.on_error == "skip"),
            (f"--engine {self.engine}", self.engine not in ("local", "local:1")),
            ("--out-format", self.out_format is not None),
        ]

    @property
    def _is_several(self) -> bool:
        """Whether the input can only be read in shards: several files, a pattern or an address."""
        from phasefit.predicting.inputs import is_pattern
        from phasefit.predicting.remote import is_remote

        return len(self.files) > 1 or is_remote(self.files[0]) or is_pattern(self.files[0])

    @property
    def _is_folder(self) -> bool:
        """Whether the output is a folder: by its last character, or because one of our outputs is there."""
        from phasefit.predicting.shards import MANIFEST

        out = self.out or ""
        return out.endswith(("/", os.sep)) or (Path(out) / MANIFEST).is_file()

    def _output(self, command: str, escape_formulas: bool) -> tuple[Path | None, str, bool]:
        """The output file, or None for a folder; the format, and whether it is gzipped."""
        from phasefit.cli.outputs import check_folder, check_out
        from phasefit.data.io.files import file_format

        also = (f".{ARRAY}",) if command == "embed" else ()
        out = Path(self.out or "")
        if self._is_folder or (not out.suffix and (self._is_several or self.out_format)):
            format, zipped = self._folder_format(also)
            if escape_formulas and format not in ("csv", "tsv"):
                raise DataError(f"--escape-formulas applies to CSV and TSV, not to {format}; remove it")
            if out.exists() and not out.is_dir():
                raise RunError(f"{out} is a file; give the name of a folder")
            check_folder(next(parent for parent in (out, *out.absolute().parents) if parent.exists()))
            return None, format, zipped
        if self.out_format is not None:
            raise DataError(f"--out-format applies to a folder, and {out.name} is a file; remove it")
        check_out(out, True, also=also, escape_formulas=escape_formulas)  # an existing file may be one to resume
        if out.suffix.lower() in also:
            return out, ARRAY, False
        format, zipped = file_format(out)
        if format == "parquet" and zipped:
            raise DataError(f"{out.name}: Parquet is compressed already; write to {out.name.removesuffix('.gz')}")
        return out, format, zipped

    def _folder_format(self, also: Sequence[str]) -> tuple[str, bool]:
        from phasefit.control_characters import one_line
        from phasefit.data.io.files import ENDINGS, file_format
        from phasefit.predicting.inputs import find_inputs

        if self.out_format is not None:
            ending = f".{self.out_format.lower().removeprefix('.')}"
            if ending in also:
                return ARRAY, False
            if Path(f"x{ending.removesuffix('.gz')}").suffix not in ENDINGS:
                known = [*dict.fromkeys(ENDINGS.values()), *(name.removeprefix(".") for name in also)]
                raise DataError(
                    f"--out-format {one_line(self.out_format)[:40]} is unknown; use {', '.join(known)}, csv.gz, "
                    "tsv.gz or jsonl.gz"
                )
            format, zipped = file_format(Path(f"x{ending}"), also)
            return format, zipped and format != "parquet"
        formats = {file.format for file in find_inputs(self.files, Path(self.out or ""))}
        if len(formats) > 1:
            raise DataError(f"the input files have several formats ({', '.join(sorted(formats))}); choose --out-format")
        return formats.pop(), False

    def _report(self, request: Request, summary: Summary) -> None:
        from phasefit.cli.console import stderr
        from phasefit.cli.outputs import report_written
        from phasefit.predicting.run import skipped_file

        notes = []
        if summary.resumed and summary.shards:
            notes.append(f"resumed: {summary.resumed:,} shards were finished before")
        since = " since it was resumed" if summary.resumed else ""
        if summary.blank:
            notes.append(f"{summary.blank:,} rows without a text{since}: all new columns are empty there")
        if summary.withheld:
            notes.append(f"{summary.withheld:,} predictions are withheld{since} (empty, with probabilities)")
        if summary.skipped:
            aside = skipped_file(request.file) if request.file else f"{request.folder}/*.skipped.jsonl"
            notes.append(f"{summary.skipped:,} rows cannot be read and are left out; they are listed in {aside}")
        for note in [] if self.quiet else notes:
            stderr().print(note, soft_wrap=True)
        report_written(request.file or request.folder, summary.rows - summary.skipped, self.quiet)


def _has_labels(run: Run) -> bool:
    return (run.folder / "labels.json").is_file() or not run.has_encoder


def _threads() -> int | None:
    """The threads of this process once the model is loaded."""
    torch = sys.modules.get("torch")
    return int(torch.get_num_threads()) if torch is not None else os.cpu_count()


def _is_large(source: str) -> bool:
    """Whether a single file is worth several shards."""
    from phasefit.data.io import json_list
    from phasefit.data.io.encodings import TextFile, unicode_encoding
    from phasefit.data.io.files import file_format
    from phasefit.predicting.shards import ROWS

    path = Path(source).expanduser()
    try:
        if not path.is_file():
            return False
        format, zipped = file_format(path)
        size = path.stat().st_size
        if format == "parquet":
            return not zipped and size > LARGE_PARQUET and _parquet_rows(path) > ROWS
        if size <= (LARGE_ZIPPED if zipped else LARGE):
            return False
        return format != "jsonl" or not json_list.is_list(TextFile(path, unicode_encoding(path)))
    except (DataError, OSError, ValueError):  # reported by whoever reads it
        return False


def _parquet_rows(path: Path) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except pa.ArrowException:
        return 0
