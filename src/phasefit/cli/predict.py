"""`phasefit predict`: labels and probabilities for a file, standard input, or single texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from phasefit.cli import options as opt
from phasefit.errors import DataError

if TYPE_CHECKING:
    import numpy as np

    from phasefit.kinds.decision import Decision
    from phasefit.models.predictor import Predictor

RUNNERS_UP = 2  # further classes that --say shows
NO_ANSWER = "(none of these)"


def predict(
    run: opt.Run,
    files: opt.OptionalInputFiles = None,
    say: Annotated[
        list[str] | None,
        typer.Option(
            help="A text to classify; repeat it for more. A model of pairs needs two per pair.",
            metavar="TEXT",
            rich_help_panel=opt.DATA,
        ),
    ] = None,
    task: opt.Task = None,
    text: opt.PairText = None,
    format: opt.StdinFormat = "lines",
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    data_dir: opt.DataDir = None,
    out: opt.OutPath = None,
    out_format: opt.OutFormat = None,
    on_error: opt.OnError = "fail",
    overwrite: opt.Overwrite = False,
    probabilities: Annotated[
        str,
        typer.Option(
            help="Add the probabilities of all classes, of the N most probable classes of each row (top:N), or none.",
            metavar="all|top:N|none",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "all",
    no_probabilities: Annotated[
        bool,
        typer.Option("--no-probabilities", help="Short for --probabilities none.", rich_help_panel=opt.OUTPUT),
    ] = False,
    reject_below: Annotated[
        float | None,
        typer.Option(
            help="Leave predictions with a lower probability empty; default: the threshold of the run (--reject); 0: "
            "predict all.",
            min=0,
            max=1,
            metavar="P",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    escape_formulas: opt.EscapeFormulas = False,
    prefix: Annotated[
        str, typer.Option(help="A prefix for the names of new columns.", metavar="TEXT", rich_help_panel=opt.OUTPUT)
    ] = "",
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
    shard_rows: opt.ShardRows = None,
    engine: opt.Engine = "local",
) -> None:
    """Predict labels and probabilities for new texts.

    The output has the columns of the input, then prediction, probability and probability_CLASS for each class; for
    scores only prediction. Several labels are joined with |, or written as a list if a class name contains one. A run
    trained with --reject leaves uncertain predictions empty and keeps their probabilities. In rows without a text, all
    new columns are empty. Large files and several files are predicted shard by shard; after a kill, the same command
    resumes.

    $ phasefit predict runs/reviews new.csv -o predictions.csv
    $ phasefit predict runs/reviews --say "arrived broken"
    $ phasefit predict runs/reviews 'data/*.parquet' -o predictions/
    $ cat lines.txt | phasefit predict runs/reviews - > predictions.csv
    """
    import numpy as np

    from phasefit.cli.inputs import (
        check_heads,
        check_run,
        check_task,
        frame_of,
        load,
        read_texts,
        report_reading,
        sides_of,
    )
    from phasefit.cli.outputs import check_out, write_out
    from phasefit.cli.progress import counting
    from phasefit.cli.shards import Sharding, path_of, single
    from phasefit.data.io.frames import check_columns
    from phasefit.data.sources import read_table
    from phasefit.kinds import kind_of
    from phasefit.predicting.columns import (
        add_predictions,
        check_probabilities,
        column_names,
        decision_of,
        parse_probabilities,
        refuse_clashes,
    )
    from phasefit.predicting.worker import Options
    from phasefit.runs.run import Run

    shown = parse_probabilities(probabilities)
    if no_probabilities:
        if probabilities not in ("all", "none"):
            raise DataError(f"--no-probabilities and --probabilities {probabilities} exclude each other; remove one")
        shown = "none"
    check_run(run)
    opened = Run.open_model(run)
    check_heads(opened)
    task = check_task(opened, task)
    sides = sides_of(opened, task)
    if say and (files or out is not None):
        raise DataError("--say prints a table of its texts; remove FILE and --out, or remove --say")
    if say and (no_probabilities or probabilities != "all"):
        raise DataError("--say always shows the most probable classes; remove --probabilities, or predict a file")
    if say:
        texts = read_table(say, need_labels=False, what="--say").texts
        if sides == "pairs" and len(texts) % 2:
            raise DataError("this model needs pairs of texts; give --say twice for each pair")
        inputs = list(zip(texts[::2], texts[1::2], strict=True)) if sides == "pairs" else texts
        model = load(opened, device, threads, quiet)
        show_predictions(model, inputs, decision_of(model, reject_below, task), task)
        return
    usual = opened.table(task).columns
    sharding = Sharding(files or (), out, out_format, on_error, shard_rows, engine, overwrite, quiet)
    if sharding.wanted():
        settings = Options(task, sides, prefix, shown, reject_below, escape_formulas, batch_size, device)
        sharding.run(
            "predict", opened, settings, text=text, usual=usual, threads=threads, dialect=(delimiter, encoding)
        )
        return
    file, target = single(files), path_of(out)
    check_out(target, overwrite, escape_formulas=escape_formulas)
    how = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "empty": "keep"}
    table = read_texts(file, text=text, format=format, data_dir=data_dir, usual=usual, sides=sides, **how)
    report_reading(table, quiet)
    frame = frame_of(table)
    if target is not None:
        check_columns(frame, target)
    model = load(opened, device, threads, quiet)
    name = model.known_task(task)
    space, decision = model.space_of(name), decision_of(model, reject_below, name)
    check_probabilities(space, shown)
    refuse_clashes(frame.columns, column_names(space, prefix, shown))
    inputs = [one for row, one in enumerate(table.inputs) if table.blank is None or not table.blank[row]]
    with counting("predicting", len(inputs), quiet) as progress:
        outputs = (
            model.predict_outputs(inputs, task=name, batch_size=batch_size, progress=progress)
            if inputs
            else np.empty((0, max(len(space), 1)))
        )
    withheld = 0 if kind_of(space).no_reject or not inputs else int((decision.answers(outputs) < 0).sum())
    report_empty(len(table) - len(inputs), withheld, len(table), decision, quiet)
    predicted = add_predictions(frame, outputs, space, decision, prefix, shown, table.blank)
    write_out(predicted, target, quiet, escape_formulas)


def report_empty(blank: int, withheld: int, rows: int, decision: Decision, quiet: bool) -> None:
    """Print how many predictions are empty because there is no text, and how many because they are uncertain."""
    from phasefit.cli.console import stderr

    notes = []
    if blank:
        notes.append(
            f"{blank:,} of {rows:,} rows {'has' if blank == 1 else 'have'} no text: all new columns are empty there"
        )
    if withheld:
        below = f"their probability is below {decision.reject_below:.3f}"
        notes.append(f"{withheld:,} of {rows:,} predictions are withheld (empty, with probabilities): {below}")
    for note in [] if quiet else notes:
        stderr().print(note, soft_wrap=True)


def show_predictions(
    model: Predictor, texts: Sequence[str] | Sequence[tuple[str, str]], decision: Decision, task: str | None = None
) -> None:
    """Print texts, or pairs, with their predictions."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import new_table
    from phasefit.kinds import kind_of

    name = model.known_task(task)
    space, outputs = model.space_of(name), model.predict_outputs(texts, task=name)
    kind = kind_of(space)
    shown = [printable(text if isinstance(text, str) else " / ".join(text), 80) for text in texts]
    if not kind.has_classes:
        table = new_table("text", "prediction", *(["score"] if len(space) else []), right=(1, 2))
        for text, row, answer in zip(shown, outputs, kind.answers(outputs, space, decision), strict=True):
            table.add_row(text, *([str(answer)] if len(space) else []), f"{row[0]:.3f}")
    else:
        table = new_table("text", "prediction", "probability", "next most likely", right=(2,))
        for text, row, codes in zip(shown, outputs, kind.predicted_codes(outputs, decision), strict=True):
            table.add_row(text, *_prediction_cells(row, codes, space.names))
    stdout().print(table)


def _prediction_cells(row: np.ndarray, codes: Sequence[int], names: Sequence[str]) -> tuple[str, str, str]:
    """The predicted labels, most probable first, their probabilities, and the next classes."""
    from phasefit.cli.console import printable

    order = row.argsort()[::-1]
    first = [code for code in order if code in codes]
    others = [f"{printable(names[code], 40)} {row[code]:.3f}" for code in order if code not in codes]
    labels = ", ".join(printable(names[code], 40) for code in first) or NO_ANSWER
    return labels, ", ".join(f"{row[code]:.3f}" for code in first), ", ".join(others[:RUNNERS_UP])
