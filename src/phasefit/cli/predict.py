"""`phasefit predict`: labels and probabilities for a file, for standard input, or for a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from phasefit.cli import options as opt
from phasefit.errors import DataError

if TYPE_CHECKING:
    from phasefit.models.model import Model

RUNNERS_UP = 2  # how many more classes --say shows


def predict(
    run: opt.Run,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSONL or Parquet (.gz too), a .txt of one text a line, a dataset's name, or - for standard "
            "input.",
        ),
    ] = None,
    say: Annotated[
        list[str] | None, typer.Option(help="A text to classify at once; repeat for more.", metavar="TEXT")
    ] = None,
    text: opt.Text = None,
    format: opt.StdinFormat = "lines",
    data_dir: opt.DataDir = None,
    out: opt.OutFile = None,
    overwrite: opt.Overwrite = False,
    probabilities: Annotated[
        bool, typer.Option(help="A column with the probability of each class.", rich_help_panel=opt.OUTPUT)
    ] = True,
    prefix: Annotated[
        str, typer.Option(help="Put before the names of the new columns.", rich_help_panel=opt.OUTPUT)
    ] = "",
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
) -> None:
    """Predict labels with probabilities, and keep the columns of the input.

    Adds the columns prediction, probability and, for each class, probability_CLASS.

    [bold]phasefit predict runs/reviews new.csv -o predictions.csv[/]

    [bold]phasefit predict runs/reviews --say "arrived broken"[/]

    [bold]cat lines.txt | phasefit predict runs/reviews - > predictions.csv[/]
    """
    from phasefit.cli.inputs import check_run, columns_of, frame_of, load, read_texts
    from phasefit.cli.outputs import check_out, write_out
    from phasefit.cli.predictions import add_predictions, column_names, refuse_clashes
    from phasefit.cli.progress import counting
    from phasefit.data.sources import read_table

    check_run(run)
    if say and (file is not None or out is not None):
        raise DataError("--say shows a table of its texts; leave out FILE and -o, or leave out --say")
    if say:
        texts = read_table(say, need_labels=False, what="--say").texts
        show_said(load(run, device, threads, quiet), texts)
        return
    check_out(out, overwrite)
    table = read_texts(file, text=text, format=format, data_dir=data_dir, usual=columns_of(run))
    model = load(run, device, threads, quiet)
    frame = frame_of(table)
    refuse_clashes(frame.columns, column_names(model.space, prefix, probabilities))
    with counting("predicting", len(table.texts), quiet) as progress:
        found = model.predict_proba(table.texts, batch_size=batch_size, progress=progress)
    write_out(add_predictions(frame, found, model.space, prefix, probabilities), out, quiet=quiet)


def show_said(model: Model, texts: Sequence[str]) -> None:
    """Texts with what the model makes of them: the likeliest label and those that come next."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table

    table, classes = new_table("text", "prediction", "probability", "then", right=(2,)), model.space.names
    for text, row in zip(texts, model.predict_proba(texts), strict=True):
        order = row.argsort()[::-1]
        names = [printable(classes[code], 40) for code in order[: 1 + RUNNERS_UP]]
        then = ", ".join(f"{name} {row[code]:.3f}" for name, code in zip(names[1:], order[1:], strict=False))
        table.add_row(printable(text, 80), names[0], f"{row[order[0]]:.3f}", then)
    stdout().print(table)
