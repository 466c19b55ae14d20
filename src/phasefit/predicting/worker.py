"""A worker: the loaded model, and the pure function from a shard to its output."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phasefit.data.checks import Place, check_texts
from phasefit.data.columns import Sides
from phasefit.data.table import Table
from phasefit.data.table_reading import Options as TableOptions
from phasefit.data.table_reading import table_from_frame
from phasefit.errors import DataError, TextsCut
from phasefit.kinds import kind_of
from phasefit.predicting.columns import (
    VECTORS,
    Probabilities,
    add_predictions,
    add_vectors,
    check_probabilities,
    column_names,
    decision_of,
    refuse_clashes,
    refuse_vectors,
)
from phasefit.predicting.plan import FilePlan
from phasefit.predicting.readers import Reader, ShardRows, Skipped, schema_of
from phasefit.predicting.shards import Shard
from phasefit.predicting.writers import ARRAY, SKIPPED, write_array, write_parquet, write_skipped, write_table
from phasefit.process_memory import bound_primitive_cache, return_free_memory
from phasefit.runs.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from phasefit.models.predictor import Predictor


@dataclass(frozen=True)
class Options:
    """Everything that changes the output, except the model, the input and the number of threads."""

    task: str | None = None
    sides: Sides = "one"
    prefix: str = ""
    probabilities: Probabilities = "all"
    reject_below: float | None = None
    escape_formulas: bool = False
    batch_size: int = 64
    device: str = "auto"


@dataclass(frozen=True)
class Job:
    """What a worker needs to know: it is sent to other processes."""

    command: Literal["predict", "embed"]
    model: str
    threads: int | None
    plans: tuple[FilePlan, ...]
    options: Options
    folder: Path
    format: str  # csv, tsv, jsonl, parquet or npy
    zipped: bool = False
    parts: bool = False  # whether shards become one file: only the first has a header
    skip: bool = False  # unreadable rows are left out instead of refused

    def output(self, shard: Shard) -> Path:
        """The file of a shard."""
        return self.folder / f"{shard.name}.{self.format}{'.gz' * (self.zipped and not self.parts)}"

    def is_done(self, shard: Shard) -> bool:
        """Whether the file of a shard is there; a link in its place does not count."""
        path = self.output(shard)
        return path.is_file() and not path.is_symlink()

    def is_first(self, shard: Shard) -> bool:
        """Whether a shard has the first rows of all; files may have none."""
        return shard.first == 0 and not any(plan.rows for plan in self.plans[: shard.file])

    def skipped(self, shard: Shard) -> Path:
        """The file of the rows of a shard that were left out."""
        return self.folder / f"{shard.name}{SKIPPED}"


@dataclass(frozen=True)
class ShardResult:
    """Counts of a finished shard, and a warning about texts that were cut."""

    shard: Shard
    rows: int  # written
    blank: int = 0
    withheld: int = 0
    skipped: int = 0
    warning: str = ""


@dataclass(frozen=True)
class ShardPlace(Place):
    """The rows of a shard, in messages by their place in the file."""

    shard_rows: ShardRows | None = None

    def row(self, index: int) -> str:
        """The location of a row."""
        assert self.shard_rows is not None
        place = index if self.rows is None else int(self.rows[index])
        line = self.shard_rows.line(place)
        column = f", column '{self.column}'" if self.column else ""
        return f"{self.name}, row {self.shard_rows.numbers[place]}" + (f" (line {line})" if line else "") + column


class Worker:
    """Loads the model once and runs shards, in any order."""

    def __init__(self, job: Job, model: Predictor | None = None) -> None:
        self.job = job
        bound_primitive_cache()
        if model is None:
            model = Run.open_model(job.model).predictor(job.options.device, job.threads)
        self.model = model
        self._reader: Reader | None = None
        if job.command == "predict":
            options = job.options
            self.task = model.known_task(options.task)
            self.space = model.space_of(self.task)
            self.decision = decision_of(model, options.reject_below, self.task)
            check_probabilities(self.space, options.probabilities)
            self.added = column_names(self.space, options.prefix, options.probabilities)
        else:
            self.added = [VECTORS]
        for plan in job.plans:
            if job.command == "predict":
                refuse_clashes(plan.columns, self.added)
            elif job.format != ARRAY:
                refuse_vectors(plan.columns)

    def execute(self, shard: Shard, progress: Callable[[int], None] | None = None) -> ShardResult:
        """Read a shard, compute its output, and write it: first the rows that were left out, then all others."""
        return_free_memory()  # of the shard before
        plan = self.job.plans[shard.file]
        if self._reader is None or self._reader.plan is not plan:
            self.close()
            self._reader = Reader(plan)
        rows = self._reader.read(shard, skip=self.job.skip)
        if self.job.skip:
            rows = self._without_bad_texts(plan, rows)
        table = self._table(plan, rows)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TextsCut)
            result = self._compute(shard, rows, table, progress)
        cut = [str(one.message) for one in caught if issubclass(one.category, TextsCut)]
        for one in caught:
            if not issubclass(one.category, TextsCut):
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        if progress is not None and rows.skipped:
            progress(len(rows.skipped))
        return replace(result, warning=cut[0] if cut else "")

    def close(self) -> None:
        """Close the input file."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _table(self, plan: FilePlan, rows: ShardRows) -> Table | None:
        """The texts of the rows; None without any rows."""
        if not len(rows.frame):
            return None
        options = TableOptions(
            text=plan.texts,
            need_labels=False,
            no_labels=True,
            sides=self.job.options.sides,
            empty="keep" if self.job.command == "predict" else None,
        )
        name = plan.file.path.name
        return table_from_frame(rows.frame, name, options, ShardPlace(name, shard_rows=rows))

    def _compute(
        self, shard: Shard, rows: ShardRows, table: Table | None, progress: Callable[[int], None] | None
    ) -> ShardResult:
        count, job = len(rows.frame), self.job
        result = ShardResult(shard, count, skipped=len(rows.skipped))
        if job.command == "embed":
            texts = [] if table is None else table.texts
            vectors = self.model.embed(texts, batch_size=job.options.batch_size, progress=progress)
            if rows.skipped:
                self._write_skipped(shard, rows.skipped)
            if job.format == ARRAY:
                write_array(job.output(shard), vectors)
            else:
                self._write(shard, rows, add_vectors(rows.frame, vectors, job.format))
            return result
        blank = None if table is None else table.blank
        inputs = (
            [] if table is None else [one for row, one in enumerate(table.inputs) if blank is None or not blank[row]]
        )
        if progress is not None and count > len(inputs):
            progress(count - len(inputs))
        outputs = (
            self.model.predict_outputs(inputs, task=self.task, batch_size=job.options.batch_size, progress=progress)
            if inputs
            else np.empty((0, max(len(self.space), 1)))
        )
        kind = kind_of(self.space)
        withheld = 0 if kind.no_reject or not inputs else int((self.decision.answers(outputs) < 0).sum())
        options = job.options
        predicted = add_predictions(
            rows.frame, outputs, self.space, self.decision, options.prefix, options.probabilities, blank
        )
        if rows.skipped:
            self._write_skipped(shard, rows.skipped)
        self._write(shard, rows, predicted)
        return replace(result, blank=count - len(inputs), withheld=withheld)

    def _write_skipped(self, shard: Shard, skipped: list[Skipped]) -> None:
        ordered = sorted(skipped, key=lambda one: one.row)
        write_skipped(self.job.skipped(shard), self.job.plans[shard.file].file.name, ordered)

    def _write(self, shard: Shard, rows: ShardRows, frame: pd.DataFrame) -> None:
        job, plan = self.job, self.job.plans[shard.file]
        if job.format == "parquet":
            write_parquet(job.output(shard), self._typed(plan, rows, frame))
            return
        quote_all = plan.returns or any("\r" in str(name) for name in frame.columns) or None
        write_table(
            job.output(shard),
            frame,
            job.format,
            header=not job.parts or job.is_first(shard),
            quote_all=quote_all,
            escape_formulas=job.options.escape_formulas,
        )

    def _typed(self, plan: FilePlan, rows: ShardRows, frame: pd.DataFrame) -> Any:
        """The rows as a table of pyarrow with the same types in every shard."""
        import pyarrow as pa

        table = rows.table
        if table is None:
            table = pa.Table.from_pandas(
                frame[list(plan.columns)], schema=schema_of(plan), preserve_index=False
            ).replace_schema_metadata(None)
        for name, kind in self._types().items():
            table = table.append_column(name, pa.array(frame[name].tolist(), kind, from_pandas=True))
        return table

    def _types(self) -> dict[str, Any]:
        """The types of new columns: those of one row, because a shard may have only empty cells."""
        import pandas as pd
        import pyarrow as pa

        if self.job.command == "embed":
            return {VECTORS: pa.list_(pa.float64())}
        classes = len(self.space) if kind_of(self.space).has_classes else 1
        options = self.job.options
        row = add_predictions(
            pd.DataFrame(index=[0]),
            np.full((1, classes), 0.5),
            self.space,
            replace(self.decision, reject_below=0.0),
            options.prefix,
            options.probabilities,
        )
        types = {name: pa.array(row[name].tolist(), from_pandas=True).type for name in row.columns}
        if types:  # no class may be predicted here; several labels are written as one text
            first = next(iter(types))
            types[first] = pa.string() if types[first] == pa.null() else types[first]
        return {name: pa.float64() if kind == pa.null() else kind for name, kind in types.items()}

    def _without_bad_texts(self, plan: FilePlan, rows: ShardRows) -> ShardRows:
        """Only rows whose texts can be used; the others are noted."""
        name = plan.file.path.name
        bad: dict[int, str] = {}
        for column in plan.texts:
            label = column if len(plan.texts) > 1 else ""
            for place, value in enumerate(rows.frame[column].tolist()):
                if type(value) is str and value.strip() and value.isascii():
                    continue
                where = ShardPlace(name, column=label, rows=np.array([place]), shard_rows=rows)
                if self.job.command == "predict" and _is_empty(value):
                    continue
                try:
                    check_texts([value], where)
                except DataError as error:
                    bad.setdefault(place, str(error))
        if not bad:
            return rows
        kept = rows.keep([place for place in range(len(rows.numbers)) if place not in bad])
        noted = [Skipped(rows.numbers[place], rows.line(place), reason) for place, reason in bad.items()]
        return replace(kept, skipped=[*rows.skipped, *noted])


def _is_empty(value: Any) -> bool:
    from phasefit.data.checks import is_missing

    return is_missing(value)
