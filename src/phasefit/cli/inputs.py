"""Input of commands: a table from a file, a dataset name or standard input, and the model."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from phasefit.errors import DataError, ModelError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from phasefit.data.columns import Columns, Sides
    from phasefit.data.table import Table
    from phasefit.models.predictor import Predictor
    from phasefit.runs.run import Run

Format: TypeAlias = Literal["lines", "csv", "tsv", "jsonl"]
STDIN = "standard input"
OPEN_FILES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # files that a process has open
SPLITS = ("train", "validation", "test")
NO_CLASSIFIER = (
    "this run is an encoder without a classifier; use 'phasefit embed', or train a classifier with a finetune phase"
)


def check_run(run: str) -> None:
    """Raise an error if there is no such run; unlike encoders, runs are not looked up on the hub."""
    if not Path(run).expanduser().exists():
        runs = sorted(str(path.parent) for path in Path("runs").glob("*/phasefit.json"))
        hint = did_you_mean(run, runs) if runs else "train one with 'phasefit train', or give the folder of a run"
        raise ModelError(f"there is no run '{run}'; {hint}")


def check_heads(run: Run) -> None:
    """Raise an error, before any table is read or torch is imported, if a run has no classifier."""
    if run.is_encoder:
        check_encoder(run)
        raise ModelError(
            f"'{run.source}' is an encoder, not a run; train a classifier with 'phasefit train DATA -m {run.source}'"
        )
    if run.only_embeds:
        raise ModelError(NO_CLASSIFIER)


def check_encoder(run: Run) -> None:
    """Raise an error, before torch is imported, if there is no encoder, or none that can be used."""
    from phasefit.models.encoder.locate import locate

    run.check_encoder()
    if run.is_encoder:
        locate(str(run.source))


def check_embeds(run: Run) -> None:
    """Raise an error, before torch is imported, if a run, an exported folder or an encoder cannot embed."""
    run.check_embeds()
    if run.is_encoder:
        check_encoder(run)


def sides_of(run: Run, task: str | None = None) -> Sides:
    """Whether the head of a run, or of one of its tasks, needs single texts or pairs."""
    return "pairs" if run.takes_pairs(task) else "one"


def check_split(split: str) -> None:
    """Raise an error for a split that no dataset has."""
    if split not in SPLITS:
        raise DataError(f"--split must be {', '.join(SPLITS[:-1])} or {SPLITS[-1]}, not '{split}'")


def check_task(run: Run, task: str | None) -> str | None:
    """The given task; raise an error if the run has no such task, or several and none is given."""
    tasks = list(run.heads)
    if task is not None and tasks == ["default"] and task not in tasks:
        raise ModelError(f"the run '{run.source}' has a single task; remove --task")
    if task is not None and task not in tasks:
        raise ModelError(f"the run '{run.source}' has no task '{task}'; {did_you_mean(task, tasks)}")
    if task is None and len(tasks) > 1:
        raise ModelError(f"the run '{run.source}' has several tasks; choose one with --task: {', '.join(tasks)}")
    return task


def load(run: Run, device: str, threads: int | None, quiet: bool = False) -> Predictor:
    """The model of a run, an exported folder or a plain encoder, on its device."""
    from phasefit.cli.progress import waiting
    from phasefit.models.device import check_device

    check_device(device)
    with waiting("loading the model", quiet):
        return run.predictor(device, threads)


def read_texts(
    source: str | None,
    *,
    text: Sequence[str] | None,
    format: Format,
    data_dir: Path | None,
    usual: Columns | None = None,
    sides: Sides = "one",
    **options: Any,
) -> Table:
    """Texts with all columns of the input, labels optional; for a dataset, its test split.

    `options` are how files are read: the delimiter, the encoding, the sheet, and empty cells.
    """
    from phasefit.data.io.files import readable
    from phasefit.data.sources import read_table, read_test

    options |= {"text": text, "usual": usual, "sides": sides, "need_labels": False}
    if source is None or source == "-":
        return StreamReading("standard-input", STDIN, format, options).table(_standard_input(source))
    if _is_stream(source):
        with readable(Path(source)):
            return StreamReading(Path(source).name, source, format, options).table(Path(source).read_bytes())
    if Path(source).expanduser().is_file():
        return read_table(source, **options)
    return read_test(source, data_dir=data_dir, **options)


def report_reading(table: Table, quiet: bool) -> None:
    """Print what was assumed about the file of a table, and how many rows were dropped, unless `quiet`."""
    from phasefit.cli.console import stderr
    from phasefit.prepare.source_facts import SourceFacts

    for note in [] if quiet else SourceFacts.of({"data": table}).notes:
        stderr().print(note, soft_wrap=True)


def read_labelled(source: str, *, split: str, usual: Columns | None = None, **options: Any) -> Table:
    """Texts with labels: a file, or one split of a dataset."""
    from phasefit.data.sources import read_table

    part = "train" if Path(source).expanduser().is_file() else split  # a file has no splits
    return read_table(source, split=part, usual=usual, **options)


def frame_of(table: Table) -> pd.DataFrame:
    """The frame of the table, or a frame of its texts."""
    import pandas as pd

    if table.frame is not None:
        return table.frame
    names = ("text",) if not table.others else ("text_a", "text_b", "text_c")
    return pd.DataFrame({name: list(side) for name, side in zip(names, table.sides, strict=False)})


def _standard_input(source: str | None) -> bytes:
    if sys.stdin is None:  # Python's value for a closed one
        raise DataError(f"{STDIN} is closed; give FILE, or pipe texts into it")
    if source is None and sys.stdin.isatty():
        raise DataError("no input: give FILE, - for standard input, or --say with a text")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise DataError(f"{STDIN} cannot be read: {error.strerror or error}; give FILE instead") from None


def _is_stream(source: str) -> bool:
    """Whether this is a pipe: `<(...)` in a shell, a named pipe, or /dev/stdin."""
    try:
        return source.startswith(OPEN_FILES) or Path(source).expanduser().is_fifo()
    except (OSError, ValueError):  # a text in place of a file name
        return False


@dataclass(frozen=True)
class StreamReading:
    """How to read a table from bytes that arrive only once."""

    file: str  # a file name; its ending sets the format if it is known
    what: str  # its name in messages
    format: Format
    options: dict[str, Any]  # of `read_table`

    def table(self, data: bytes) -> Table:
        """The table of these bytes."""
        from phasefit.data.io.files import ENDINGS, READ_ONLY
        from phasefit.data.sources import read_table

        name = self.file.lower().removesuffix(".gz")
        if Path(name).suffix in (*ENDINGS, *READ_ONLY, ".txt"):
            file = self.file
        elif self.format != "lines":
            file = f"{self.file}.{self.format}"
        elif self.options["sides"] == "pairs":
            raise DataError("this model needs pairs of texts, but a line is one text; use --format csv, tsv or jsonl")
        else:
            return self._lines(data)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.write_bytes(data)
            return read_table(str(path), **self.options)

    def _lines(self, data: bytes) -> Table:
        from phasefit.data.sources import read_table

        encoding = self.options.get("encoding")
        unfit = next((name for name in ("delimiter", "sheet") if self.options.get(name)), None)
        if unfit is not None:
            raise DataError(f"--{unfit} does not apply to one text per line; remove it, or use --format csv")
        return read_table(
            lines_of(data, self.what, encoding), need_labels=False, what=self.what, empty=self.options.get("empty")
        )


def lines_of(data: bytes, what: str, encoding: str | None = None) -> list[str]:
    """One text per line; str.splitlines would also split at form feeds and U+2028."""
    from phasefit.data.io.dialect import UTF_8, checked_dialect, encoding_words

    name = checked_dialect(encoding=encoding).encoding or UTF_8
    try:
        text = data.decode("utf-8-sig" if name == UTF_8 else name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{what}, line {line}: invalid {encoding_words(name)}; convert the text to UTF-8, or name its encoding "
            "with --encoding"
        ) from None
    if not text.strip():
        raise DataError(f"{what} is empty; pipe texts into it, or give FILE")
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")
