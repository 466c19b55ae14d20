"""`phasefit embed`: embedding vectors of texts, from a run or any encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.files.atomic import discard_abandoned, write_file

if TYPE_CHECKING:
    import numpy as np

ARRAY = ".npy"


def embed(
    model: Annotated[
        str,
        typer.Argument(
            metavar="RUN_OR_MODEL",
            help="A run or hub:owner/name, an exported folder, or an encoder (a folder or a hub id).",
        ),
    ],
    files: opt.InputFiles,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            help="The file to write: .npy for the array alone; .parquet, .jsonl or .csv for the columns of the input "
            "and a column 'embedding'. Or a folder, ending in /, for one file per shard.",
            metavar="FILE|FOLDER/",
            rich_help_panel=opt.OUTPUT,
        ),
    ],
    text: opt.OneText = None,
    format: opt.StdinFormat = "lines",
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    data_dir: opt.DataDir = None,
    out_format: opt.OutFormat = None,
    on_error: opt.OnError = "fail",
    overwrite: opt.Overwrite = False,
    escape_formulas: opt.EscapeFormulas = False,
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
    shard_rows: opt.ShardRows = None,
    engine: opt.Engine = "local",
) -> None:
    """Compute the embedding vectors of texts.

    $ phasefit embed runs/reviews new.csv -o vectors.npy
    $ phasefit embed intfloat/e5-base-v2 new.csv -o vectors.parquet
    """
    from phasefit.cli.inputs import check_embeds, frame_of, load, read_texts, report_reading
    from phasefit.cli.outputs import check_out, report_written, rescued, write_out
    from phasefit.cli.progress import counting
    from phasefit.cli.shards import Sharding, single
    from phasefit.data.io.files import file_format
    from phasefit.data.io.frames import check_columns
    from phasefit.predicting.columns import add_vectors, refuse_vectors
    from phasefit.predicting.worker import Options
    from phasefit.runs.run import Run

    sharding = Sharding(files, out, out_format, on_error, shard_rows, engine, overwrite, quiet)
    is_sharded, target = sharding.wanted(), Path(out)
    if not is_sharded:
        check_out(target, overwrite, also=(ARRAY,), escape_formulas=escape_formulas)
    run = Run.open_model(model)
    check_embeds(run)
    usual = run.table().columns
    if is_sharded:
        settings = Options(escape_formulas=escape_formulas, batch_size=batch_size, device=device)
        named = None if text is None else [text]
        sharding.run("embed", run, settings, text=named, usual=usual, threads=threads, dialect=(delimiter, encoding))
        return
    file = single(files)
    dialect: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    table = read_texts(file, text=text, format=format, data_dir=data_dir, usual=usual, **dialect)
    report_reading(table, quiet)
    is_array = target.suffix.lower() == ARRAY
    frame = frame_of(table)
    if not is_array:
        check_columns(frame, target)
        refuse_vectors(frame.columns)
    encoder = load(run, device, threads, quiet)
    with counting("embedding", len(table), quiet) as progress:
        vectors = encoder.embed(table.texts, batch_size=batch_size, progress=progress)
    if is_array:
        with rescued(lambda path: write_array(vectors, path), target, ARRAY):
            write_array(vectors, target)
        report_written(target, len(vectors), quiet)
    else:
        write_out(add_vectors(frame, vectors, file_format(target)[0]), target, quiet, escape_formulas)


def write_array(vectors: np.ndarray, path: Path) -> None:
    """Write the array atomically."""
    import numpy as np

    def fill(temporary: Path) -> None:
        with temporary.open("wb") as file:  # given a name, numpy would append .npy to it
            np.save(file, vectors, allow_pickle=False)

    write_file(path, fill)
    discard_abandoned(path.parent)
