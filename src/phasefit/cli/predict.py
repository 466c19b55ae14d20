"""`phasefit predict`: labels and probabilities for a file, for standard input, or for a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from phasefit.cli import options as opt
from phasefit.errors import DataError

if TYPE_CHECKING:
    from phasefit.models.decision import Decision
    from phasefit.models.model import Model

RUNNERS_UP = 2  # how many more classes --say shows
NO_ANSWER = "(none of these)"


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
    reject_below: Annotated[
        float | None,
        typer.Option(
            help="Withhold a prediction less probable than this and leave its cell empty; what the run chose with "
            "--reject if not given, 0 to answer all.",
            min=0,
            max=1,
            metavar="P",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="Put before the names of the new columns.", rich_help_panel=opt.OUTPUT)
    ] = "",
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
) -> None:
    """Predict labels with probabilities, and keep the columns of the input.

    Adds the columns prediction, probability and, for each class, probability_CLASS. A run that was trained with
    --reject leaves the prediction empty where it is not sure enough.

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
        model = load(run, device, threads, quiet)
        show_said(model, texts, decision_of(model, reject_below))
        return
    check_out(out, overwrite)
    table = read_texts(file, text=text, format=format, data_dir=data_dir, usual=columns_of(run))
    model = load(run, device, threads, quiet)
    frame = frame_of(table)
    refuse_clashes(frame.columns, column_names(model.space, prefix, probabilities))
    with counting("predicting", len(table.texts), quiet) as progress:
        found = model.predict_proba(table.texts, batch_size=batch_size, progress=progress)
    decision = decision_of(model, reject_below)
    say_withheld(int((decision.answers(found) < 0).sum()), len(found), decision, quiet)
    write_out(add_predictions(frame, found, model.space, decision, prefix, probabilities), out, quiet=quiet)


def decision_of(model: Model, reject_below: float | None) -> Decision:
    """The model's own, or with another threshold."""
    own = model.decision()
    return own if reject_below is None else replace(own, reject_below=reject_below)


def say_withheld(withheld: int, rows: int, decision: Decision, quiet: bool) -> None:
    """How many predictions are empty, and why."""
    from phasefit.cli.console import stderr

    if withheld and not quiet:
        said = f"{withheld:,} of {rows:,} predictions are less probable than {decision.reject_below:.3f}: left empty"
        stderr().print(said, soft_wrap=True)


def show_said(model: Model, texts: Sequence[str], decision: Decision) -> None:
    """Texts with what the model makes of them: the likeliest label, if it is sure enough, and those that come next."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table

    table, classes = new_table("text", "prediction", "probability", "then", right=(2,)), model.space.names
    found = model.predict_proba(texts)
    for text, row, code in zip(texts, found, decision.answers(found).tolist(), strict=True):
        order = row.argsort()[::-1]
        then = [f"{printable(classes[other], 40)} {row[other]:.3f}" for other in order if other != code]
        said = NO_ANSWER if code < 0 else printable(classes[code], 40)
        table.add_row(printable(text, 80), said, "" if code < 0 else f"{row[code]:.3f}", ", ".join(then[:RUNNERS_UP]))
    stdout().print(table)
