"""`phasefit evaluate`: how good a run is on a table with labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt

if TYPE_CHECKING:
    import pandas as pd

    from phasefit.data.table import Table


def evaluate(
    run: opt.Run,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table with texts and labels, or a dataset's name.")],
    text: opt.Text = None,
    label: opt.Label = None,
    tree: opt.Tree = None,
    split: Annotated[
        str, typer.Option(help="Which split of a named dataset: train, validation or test.", rich_help_panel=opt.DATA)
    ] = "test",
    unseen: opt.Unseen = "error",
    data_dir: opt.DataDir = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="A folder for metrics.json, predictions.csv and the confusion matrix as a picture.",
            metavar="FOLDER",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
) -> None:
    """Score a run on a table with labels: all metrics, and each class.

    [bold]phasefit evaluate runs/reviews other.csv[/]

    [bold]phasefit evaluate runs/trec trec -o scores --json[/]
    """
    from phasefit.cli.inputs import check_run, columns_of, frame_of, is_run, load, read_labelled, tree_of
    from phasefit.cli.outputs import check_out_folder
    from phasefit.cli.predictions import add_predictions, free_prefix
    from phasefit.cli.progress import counting

    check_run(run)
    check_out_folder(out, overwrite)
    usual, tree = columns_of(run), tree if label else tree or tree_of(run)
    table = read_labelled(data, split=split, usual=usual, text=text, label=label or (), tree=tree, data_dir=data_dir)
    model = load(run, device, threads, quiet)
    from phasefit.runner.evaluate import score  # with torch, so not before everything else is known to be in order
    from phasefit.runner.splitting import known_only

    notes: list[str] = []
    if is_run(run):
        say_trained_on(table, run)
    table = known_only(table, model.space, unseen, notes) or table
    say_notes(notes, quiet)
    with counting("evaluating", len(table), quiet) as progress:
        found = model.predict_proba(table.texts, batch_size=batch_size, progress=progress)
    metrics = score(model, table, found)
    if out is not None:
        frame = frame_of(table)
        prefix = free_prefix(frame, model.space)
        predicted = add_predictions(frame, found, model.space, model.decision(), prefix)
        write_evaluation(out, predicted, metrics, quiet)
    show_metrics(metrics, table.name, json)


def say_trained_on(table: Table, run: str) -> None:
    """Scores on what a run was trained on say nothing about new texts; it is told even to who wants quiet."""
    from phasefit.cli.console import stderr
    from phasefit.cli.progress import print_note
    from phasefit.runner.splitting import note_known
    from phasefit.runner.starting import base_run
    from phasefit.training.events import Note

    notes: list[str] = []
    note_known({table.name: table}, base_run(run), notes)
    for note in notes:
        print_note(stderr(), Note(f"{note}: its scores on them say nothing about new texts", warning=True))


def say_notes(notes: list[str], quiet: bool) -> None:
    """What was decided about some of the rows."""
    from phasefit.cli.console import stderr

    for note in [] if quiet else notes:
        stderr().print(note, soft_wrap=True)


def show_metrics(metrics: dict[str, Any], name: str, json: bool = False) -> None:
    """The metrics of one table, then each class."""
    from phasefit.cli.console import print_json, printable, stdout
    from phasefit.cli.tables import classes_table, metrics_table

    if json:
        print_json(metrics)
        return
    stdout().print(metrics_table({printable(name, 30): metrics}))
    stdout().print(classes_table(metrics.get("per_class", {})))


def write_evaluation(folder: Path, predicted: pd.DataFrame, metrics: dict[str, Any], quiet: bool) -> None:
    """metrics.json, predictions.csv and confusion.png."""
    from phasefit.cli.console import as_json, stderr
    from phasefit.data.readers import write_frame
    from phasefit.runner.figures import confusion_figure

    folder.mkdir(parents=True, exist_ok=True)
    write_frame(predicted, folder / "predictions.csv")
    confusion_figure(metrics["confusion"], folder / "confusion.png")
    (folder / "metrics.json").write_text(as_json(metrics) + "\n", encoding="utf-8")
    if not quiet:
        stderr().print(f"metrics.json, predictions.csv and confusion.png (and .svg) are in {folder}", soft_wrap=True)
