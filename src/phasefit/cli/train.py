"""`phasefit train`: from a table of texts and labels to a run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.cli.errors import Interrupted

if TYPE_CHECKING:
    from phasefit.runner.request import TrainRequest
    from phasefit.runner.train import TrainResult


def train(
    ctx: typer.Context,
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="A CSV, TSV, JSONL or Parquet file, a dataset's name, or hub:owner/name."),
    ],
    text: opt.Text = None,
    label: opt.Label = None,
    tree: opt.Tree = None,
    validation: opt.Validation = None,
    test: opt.Test = None,
    unlabelled: opt.Unlabelled = None,
    validation_size: opt.ValidationSize = 0.2,
    test_size: opt.TestSize = 0.1,
    rows: opt.Rows = None,
    unseen: opt.Unseen = "error",
    data_dir: opt.DataDir = None,
    recipe: opt.Recipe = "three-phase",
    settings: opt.Settings = None,
    model: opt.Model = None,
    seed: opt.Seed = 0,
    refit: opt.Refit = False,
    plan: opt.Plan = False,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    track: opt.Track = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    precision: opt.Precision = "auto",
) -> None:
    """Train a classifier on a table of texts and labels.

    Columns are found by their usual names, or given with --text and --label.
    Validation and test rows are split off before anything is trained.
    What comes out is a folder: the model, its metrics, its pictures.

    [bold]phasefit train reviews.csv[/]

    [bold]phasefit train tickets.parquet --text body --label area --label topic --unlabelled more.csv[/]

    [bold]phasefit train snips --recipe finetune --set finetune.epochs=4 --plan[/]
    """
    from phasefit.runner.processes import is_main_process

    request = request_from(ctx.params)
    if plan:
        show_plan(request, json=json, quiet=quiet)
    else:
        main = is_main_process()  # under `accelerate launch` one process speaks for all
        result = run(request, quiet=quiet or not main)
        if main:
            show_result(result, json=json)


def request_from(params: Mapping[str, Any]) -> TrainRequest:
    """The options that are named like the fields of a request, as a request."""
    from phasefit.runner.request import TrainRequest

    given = {field.name: params[field.name] for field in fields(TrainRequest) if field.name in params}
    lists = {name: tuple(given[name] or ()) for name in ("label", "settings")}
    return TrainRequest(**{**given, **lists, "command": shlex.join(["phasefit", *sys.argv[1:]])})


def run(request: TrainRequest, quiet: bool = False) -> TrainResult:
    """Train while showing progress; Ctrl-C says that nothing is left of it."""
    from phasefit.cli.progress import listener

    with listener(quiet) as listen:
        from phasefit.runner.train import train as train_run

        try:
            return train_run(request, listen)
        except KeyboardInterrupt:
            raise Interrupted("the unfinished run was taken back: nothing was written") from None


def show_result(result: TrainResult, json: bool = False) -> None:
    """All there is to say about a finished run."""
    from phasefit.cli.console import print_json

    if json:
        print_json(result.metrics)
        return
    show_scores(result)
    show_next(result)


def show_scores(result: TrainResult) -> None:
    """What each phase came to, and the metrics."""
    from phasefit.cli.console import stdout
    from phasefit.cli.tables import metrics_table, phases_table

    console = stdout()
    parts = {name: result.metrics[name] for name in ("validation", "test") if result.metrics.get(name)}
    console.print(phases_table(result.metrics.get("phases", [])))
    if parts:
        console.print(metrics_table(parts))
    if "refit" in result.metrics:
        console.print(
            f"Then trained anew on all {result.metrics['refit']['rows']:,} rows: that model is the one saved."
        )


def show_next(result: TrainResult) -> None:
    """Where the run is, and what to do with it."""
    from phasefit.cli.console import stdout

    console = stdout()
    folder = shlex.quote(str(result.folder))
    console.print(f"The run is in {result.folder}\n", soft_wrap=True)
    console.print("Next:", style="bold")
    console.print(f'  phasefit predict {folder} --say "a text of yours"', soft_wrap=True)
    console.print(f"  phasefit predict {folder} new.csv -o predictions.csv", soft_wrap=True)
    console.print(f"  phasefit evaluate {folder} other.csv", soft_wrap=True)


def show_plan(request: TrainRequest, json: bool = False, quiet: bool = False) -> None:
    """What would be done and how long it would take."""
    from dataclasses import asdict

    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.progress import listener
    from phasefit.cli.tables import facts_table, plan_table

    with listener(quiet) as listen:
        from phasefit.runner.plan import plan

        planned = plan(request, listen)
    if json:
        print_json(asdict(planned))
        return
    console = stdout()
    console.print(facts_table({name: value for name, value in planned.facts.items() if name != "sha256"}))
    console.print(plan_table(planned))
    for note in planned.notes:
        console.print(f"- {note}", soft_wrap=True)
