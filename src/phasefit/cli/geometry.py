"""`phasefit geometry`: the geometry of the embedding space before training and after each phase."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.errors import DataError, PhasefitError
from phasefit.files.atomic import make_folders, write_text

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from phasefit.data.table import Table
    from phasefit.runs.evaluation.geometry import Geometry
    from phasefit.runs.run import Run


def geometry(
    run: opt.Run,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="A table or a dataset name to measure on; by default the stored figures of the run are shown.",
            show_default=False,
        ),
    ] = None,
    text: opt.Text = None,
    label: opt.Label = None,
    kind: opt.Kind = None,
    tree: opt.Tree = None,
    separator: opt.Separator = None,
    levels: opt.Levels = None,
    split: opt.Split = "test",
    layers: Annotated[
        bool,
        typer.Option(
            "--layers",
            help="Measure the anisotropy of every layer instead, over texts and over words; needs DATA, and works for "
            "plain encoders too.",
        ),
    ] = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    data_dir: opt.DataDir = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="A folder for geometry.json and its plot, geometry.png and .svg (with --layers: layers.json ...).",
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
    """Show the geometry of the embedding space before training and after each phase.

    Every run stores these figures for its validation texts. With DATA they are measured on other texts: for the model
    that the run started from and for the trained one, and for each phase if the run has --keep-phases. For pairs (two
    --text, or the columns of the run), alignment compares the texts of a pair; if the pairs have labels, of those pairs
    that belong together.

    $ phasefit geometry runs/reviews
    $ phasefit geometry runs/reviews other.csv -o shape
    $ phasefit geometry runs/reviews other.csv --layers
    """
    from phasefit.cli.inputs import check_run, check_split, report_reading
    from phasefit.cli.layers import show_layers
    from phasefit.cli.outputs import check_out_folder
    from phasefit.cli.run_options import as_levels
    from phasefit.data.task_file import is_task_file
    from phasefit.runs.run import Run

    check_run(run)
    check_split(split)
    check_out_folder(out, overwrite)
    reading = {"kind": kind, "tree": tree, "separator": separator, "levels": as_levels(levels)}
    dialect: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    machine: dict[str, Any] = {"device": device, "threads": threads, "batch_size": batch_size}
    if layers:
        if label or any(reading.values()):
            raise PhasefitError("--layers uses no labels; remove --label, --kind, --tree, --separator and --levels")
        table_options = {"text": tuple(text or ()), "split": split, "data_dir": data_dir, **dialect}
        show_layers(run, data, out=out, json=json, quiet=quiet, **machine, **table_options)
        return
    opened = Run.open(run)
    opened.check_encoder()
    if data is None:
        if text or label or delimiter or encoding or sheet or any(reading.values()):
            raise PhasefitError("--text, --label and the other options of a table need DATA; add it, or remove them")
        from phasefit.runs.evaluation.geometry import stored_geometry

        stages = stored_geometry(opened)
    elif is_task_file(data):
        raise DataError(f"{data} is a task file; geometry needs a single table: give one of its tables")
    else:
        columns = {"text": tuple(text or ()), "label": tuple(label or ())}
        table = read(opened, data, quiet, reading, split=split, data_dir=data_dir, **columns, **dialect)
        report_reading(table, quiet)
        stages = measured(opened, table, quiet, **machine)
    if out is not None:
        write(out, stages, quiet)
    show(stages, json)


def read(run: Run, data: str, quiet: bool, reading: dict[str, Any], **options: Any) -> Table:
    """The table, as pairs if requested or if the run has pairs, otherwise with labels; a note if it has none."""
    from phasefit.cli.evaluate import print_notes
    from phasefit.cli.inputs import read_labelled
    from phasefit.data.labels import LABEL_KINDS

    usual = run.table().columns
    named = bool(options["label"]) or any(reading.values())
    given = {name: value for name, value in reading.items() if value}
    as_pairs = {"usual": usual, "need_labels": False, "sides": "any", **options, **given}  # not the labels of the run
    if len(options["text"]) > 1 or (usual is not None and usual.others and not (options["text"] or options["label"])):
        table = read_labelled(data, **as_pairs)
        if table.others:
            return table
    options |= reading if any(reading.values()) or len(options["label"]) > 1 else run.table().labels
    try:
        table = read_labelled(data, usual=usual, **options)
        if table.labels is not None and table.levels:
            return replace(table, labels=table.level_names, levels=(), kind=None)
        if table.labels is not None and not LABEL_KINDS[table.label_kind].has_classes:
            print_notes(["the labels are scores, not classes; figures that need classes are skipped"], quiet)
            return replace(table, labels=None)
        return table
    except DataError as error:
        with suppress(DataError):  # the first error says more
            table = read_labelled(data, **as_pairs)
            if table.others:
                return table
        if named:
            raise
        # Another problem with the table is raised here again.
        table = read_labelled(data, usual=usual, need_labels=False, sides="any", **options)
        print_notes([f"figures that need labels are skipped: {error}"], quiet)
        return table


def measured(run: Run, table: Table, quiet: bool, *, device: str, threads: int | None, batch_size: int) -> Geometry:
    """Measure the figures of a table."""
    from phasefit.cli.console import stderr
    from phasefit.cli.evaluate import print_notes
    from phasefit.cli.progress import counting, waiting
    from phasefit.events import Note
    from phasefit.progress.text import print_note
    from phasefit.runs.evaluation.geometry import UNKNOWN_PAIRS, Sample, measure, trained_on

    def warn(sentence: str) -> None:
        print_note(stderr(), Note(sentence, warning=True))

    sample = Sample.of(table)
    unit = "pairs" if table.others else "texts"
    if len(sample.texts) < len(table):
        print_notes([f"{len(sample.texts):,} of the {len(table):,} {unit} are used"], quiet)
    if sample.rule == UNKNOWN_PAIRS:
        print_notes(["the labels do not show which pairs belong together; alignment is skipped"], quiet)
    elif sample.rule:
        count = f"{len(sample.positives):,} of {len(sample.texts):,} pairs belong together ({sample.rule})"
        print_notes([f"{count}; alignment is over these"], quiet)
    if known := trained_on(run, sample):
        trained = f"{known:,} of the {len(sample):,} texts of '{table.name}'" if known < len(sample) else "all texts"
        warn(f"the run was trained on {trained}; the figures for new texts may differ")
    with waiting("starting torch", quiet):
        from phasefit.training.device import set_threads

        set_threads(threads)
    return measure(
        run,
        sample,
        warn=warn,
        counting=lambda stage: counting(f"embedding, {stage}", len(sample), quiet),
        device=device,
        batch_size=batch_size,
    )


def show(stages: Geometry, json: bool = False) -> None:
    """Print one row per figure and one column per stage."""
    from phasefit.cli.console import print_json, stdout

    if json:
        print_json(stages)
        return
    stdout().print(geometry_table(stages))


def geometry_table(stages: Geometry) -> RichTable:
    """One row per figure with an explanation, one column per stage; figures that no stage has are skipped."""
    from phasefit.cli.console import printable
    from phasefit.cli.tables import new_table
    from phasefit.metrics.geometry import geometry_rows
    from phasefit.progress.text import count, score

    headings = [printable(stage, 24) for stage in stages]
    table = new_table("", *headings, "how to read it", right=range(1, len(headings) + 1))
    for name, values, reading in geometry_rows(stages):
        table.add_row(name.replace("_", " "), *map(score, values), reading)
    for name in ("texts", "pairs"):
        if name == "texts" or any(name in figures for figures in stages.values()):
            table.add_row(name, *(count(figures.get(name, 0)) for figures in stages.values()), "")
    return table


def write(folder: Path, stages: Geometry, quiet: bool) -> None:
    """Write geometry.json, geometry.png and geometry.svg."""
    from phasefit.cli.console import as_json, stderr
    from phasefit.report.pictures import geometry_figure

    make_folders(folder)
    geometry_figure(stages, folder / "geometry.png")
    write_text(folder / "geometry.json", as_json(stages) + "\n")
    if not quiet:
        stderr().print(f"geometry.json and geometry.png (and .svg) are in {folder}", soft_wrap=True)
