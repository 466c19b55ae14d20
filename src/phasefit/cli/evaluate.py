"""`phasefit evaluate`: the metrics of a run on a table with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.cli.evaluated import Evaluated, show_all, show_metrics, write_evaluation, write_metrics
from phasefit.errors import DataError

if TYPE_CHECKING:
    from phasefit.data.table import Table
    from phasefit.models.predictor import Predictor
    from phasefit.runs.run import Run


def evaluate(
    run: opt.Run,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A table with texts and labels, a dataset name, or a task file.")
    ],
    task: opt.Task = None,
    text: opt.PairText = None,
    label: opt.Label = None,
    kind: opt.Kind = None,
    tree: opt.Tree = None,
    separator: opt.Separator = None,
    levels: opt.Levels = None,
    split: opt.Split = "test",
    unseen: opt.UnseenInData = "error",
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    empty: opt.Empty = "refuse",
    data_dir: opt.DataDir = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="A folder for metrics.json, predictions.csv and a plot of the results.",
            metavar="FOLDER",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    escape_formulas: opt.EscapeFormulas = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
) -> None:
    """Evaluate a run on a table with labels: all metrics, and scores per class.

    For a run with several tasks, choose one with --task, or pass a task file to evaluate all its tasks. For an encoder,
    pass pairs of texts with scores: the cosines of its vectors are compared with the scores.

    $ phasefit evaluate runs/reviews other.csv
    $ phasefit evaluate runs/trec trec -o scores --json
    $ phasefit evaluate runs/three tasks.toml
    $ phasefit evaluate runs/encoder stsb
    $ phasefit evaluate runs/encoder/encoder simlex999
    """
    from phasefit.cli.inputs import NO_CLASSIFIER, check_encoder, check_heads, check_run, check_split, check_task
    from phasefit.cli.outputs import check_out_folder
    from phasefit.cli.run_options import as_levels
    from phasefit.data.task_file import is_task_file
    from phasefit.runs.run import Run

    check_run(run)
    opened = Run.open_model(run)
    if opened.is_encoder:
        check_encoder(opened)
    elif not opened.only_embeds:
        check_heads(opened)
    check_split(split)
    check_out_folder(out, overwrite)
    scoring = ScoringOptions(split, unseen, batch_size, quiet, data_dir, empty)
    if opened.only_embeds or opened.is_encoder:
        if is_task_file(data) or tree or separator or task or kind not in (None, "score"):
            raise DataError(f"{NO_CLASSIFIER}; to score the encoder, pass one table of text pairs with scores")
        dialect = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "empty": empty}
        columns = {"text": tuple(text or ()), "label": tuple(label or ()), "levels": as_levels(levels)}
        pairs = read_scored_pairs(opened, data, scoring, {**columns, **dialect})
        one = evaluate_encoder(opened, pairs, scoring, device, threads)
        try:
            if out is not None:
                write_evaluation(out, one, quiet, escape_formulas)
        finally:  # even if they cannot be written
            show_metrics(one.metrics, one.name, json)
        return
    if is_task_file(data):
        if text or label or kind or tree or separator or levels or delimiter or encoding or sheet:
            raise DataError("--text, --label and other options of a table do not apply to a task file; set them there")
        only = check_task(opened, task) if task else None
        evaluated, metrics = evaluate_all(opened, data, scoring, device, threads, only)
        try:
            if out is not None:
                write_metrics(out, metrics)
                for name, one in evaluated.items():
                    write_evaluation(out / name, one, quiet, escape_formulas)
        finally:  # even if they cannot be written
            show_all(metrics, json)
        return
    task = check_task(opened, task)
    given: dict[str, Any] = {"kind": kind, "tree": tree, "separator": separator, "levels": as_levels(levels)}
    own = {} if any(given.values()) or len(label or ()) > 1 else opened.table(task).labels
    options = {"text": tuple(text or ()), "label": tuple(label or ()), **(own or given)}
    options |= {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    table = read_scored(opened, data, task, scoring, options)
    from phasefit.cli.inputs import load

    model = load(opened, device, threads, quiet)
    one = evaluate_one(opened, model, table, task, scoring)
    try:
        if out is not None:
            write_evaluation(out, one, quiet, escape_formulas)
    finally:  # even if they cannot be written
        show_metrics(one.metrics, one.name, json)


@dataclass(frozen=True)
class ScoringOptions:
    """How tables are read and scored."""

    split: str
    unseen: str
    batch_size: int
    quiet: bool
    data_dir: Path | None
    empty: str = "refuse"


def read_scored(run: Run, data: str, task: str | None, scoring: ScoringOptions, options: dict[str, Any]) -> Table:
    """The table to score on, read like the training table of the run."""
    from phasefit.cli.inputs import read_labelled, report_reading, sides_of

    options = {**options, "empty": options.get("empty") or scoring.empty}
    usual, sides = run.table(task).columns, sides_of(run, task)
    table = read_labelled(data, split=scoring.split, usual=usual, sides=sides, data_dir=scoring.data_dir, **options)
    report_reading(table, scoring.quiet)
    return table


def evaluate_one(run: Run, model: Predictor, table: Table, task: str | None, scoring: ScoringOptions) -> Evaluated:
    """All metrics of a task on a table."""
    from phasefit.cli.inputs import frame_of
    from phasefit.cli.progress import counting
    from phasefit.predicting.columns import add_predictions, free_prefix
    from phasefit.prepare.splitting import known_only
    from phasefit.runs.evaluation.score import score  # imports torch, so after all checks

    name = model.known_task(task)
    space = model.space_of(name)
    notes: list[str] = []
    if not run.is_encoder:
        warn_trained_on(table, run)
    table = known_only(table, space, scoring.unseen, notes) or table
    print_notes(notes, scoring.quiet)
    with counting("evaluating", len(table), scoring.quiet) as progress:
        outputs = model.predict_outputs(table.inputs, task=name, batch_size=scoring.batch_size, progress=progress)
    metrics, frame = score(model, table, outputs, name), frame_of(table)
    prefix = free_prefix(frame, [space])
    return Evaluated(table.name, metrics, add_predictions(frame, outputs, space, model.decision(name), prefix))


def read_scored_pairs(run: Run, data: str, scoring: ScoringOptions, options: dict[str, Any]) -> Table:
    """The pairs of texts with scores that an encoder is scored on."""
    from phasefit.cli.inputs import NO_CLASSIFIER, read_labelled, report_reading

    usual = run.table().columns
    known = usual if usual is not None and usual.others else None  # an encoder may be trained on single texts
    try:
        table = read_labelled(
            data, split=scoring.split, usual=known, sides="pairs", kind="score", data_dir=scoring.data_dir, **options
        )
    except DataError as error:
        raise type(error)(f"{NO_CLASSIFIER}; to score the encoder, pass text pairs with scores: {error}") from error
    report_reading(table, scoring.quiet)
    return table


def evaluate_encoder(run: Run, table: Table, scoring: ScoringOptions, device: str, threads: int | None) -> Evaluated:
    """The correlations of cosines and scores."""
    from phasefit.cli.inputs import frame_of, load
    from phasefit.cli.progress import counting
    from phasefit.runs.evaluation.similarity import check_scores, pair_cosines, similarity_metrics

    check_scores(table)
    if not run.is_encoder:
        warn_trained_on(table, run)
    model = load(run, device, threads, scoring.quiet)
    with counting("evaluating", 2 * len(table), scoring.quiet) as progress:
        cosines = pair_cosines(model, table, batch_size=scoring.batch_size, progress=progress)
    frame, column = frame_of(table), "cosine"
    while column in frame.columns:
        column = f"_{column}"
    return Evaluated(table.name, similarity_metrics(table, cosines), frame.assign(**{column: cosines.round(6)}))


def evaluate_all(
    run: Run,
    data: str,
    scoring: ScoringOptions,
    device: str,
    threads: int | None,
    only: str | None = None,
) -> tuple[dict[str, Evaluated], dict[str, Any]]:
    """The metrics of the tasks that both the file and the run have (or only one), and the mean of their scores."""
    from phasefit.cli.inputs import load
    from phasefit.data.sources import NoSplitError
    from phasefit.data.task_file import read_task_file
    from phasefit.metrics.registry import MEAN
    from phasefit.runs.evaluation.score import mean_of_tasks

    file, known = read_task_file(data), list(run.heads)
    specs = [spec for spec in file.tasks if spec.name in known and only in (None, spec.name)]
    if not specs:
        names = ", ".join(spec.name for spec in file.tasks)
        raise DataError(
            f"{data} and the run '{run.source}' share no task: the file has {names}, the run {', '.join(known)}"
        )
    tables: dict[str, Table] = {}
    last: NoSplitError | None = None
    for spec in specs:
        given = spec.part(scoring.split)
        options = spec.options()
        is_given = any(options[name] for name in ("kind", "tree", "separator", "levels")) or len(options["label"]) > 1
        own = {} if is_given else run.table(spec.name).labels
        try:
            tables[spec.name] = read_scored(run, given, spec.name, scoring, {**options, **own})
        except NoSplitError as error:
            print_notes([f"{spec.name} is not scored: {error}"], scoring.quiet)
            last = error
        except DataError as error:
            raise type(error)(f"{file.name}.toml, task '{spec.name}': {error}") from error
    if not tables and last is not None:
        raise last
    model = load(run, device, threads, scoring.quiet)
    evaluated = {name: evaluate_one(run, model, table, name, scoring) for name, table in tables.items()}
    metrics = {"tasks": {name: one.metrics for name, one in evaluated.items()}}
    kinds = {name: model.space_of(name).kind for name in evaluated}
    watches = {spec.name: str(spec.head.get("watch", "auto")) for spec in specs} | (
        {} if run.recipe is None else run.recipe.watched_tasks()
    )
    return evaluated, {MEAN: mean_of_tasks(metrics["tasks"], kinds, watches), **metrics}


def warn_trained_on(table: Table, run: Run) -> None:
    """Warn, even with --quiet, that scores on training texts do not show the quality on new texts."""
    from phasefit.cli.console import stderr
    from phasefit.data.labels import NoLabels
    from phasefit.events import Note
    from phasefit.prepare.base import Base
    from phasefit.prepare.splitting import note_known
    from phasefit.progress.text import print_note

    notes: list[str] = []
    note_known({table.name: table}, Base(str(run.source), NoLabels(), run.trained_texts), notes)
    for note in notes:
        print_note(stderr(), Note(f"{note}; scores on these texts say little about new ones", warning=True))


def print_notes(notes: list[str], quiet: bool) -> None:
    """Print notes unless `quiet`."""
    from phasefit.cli.console import stderr

    for note in [] if quiet else notes:
        stderr().print(note, soft_wrap=True)
