"""`phasefit export`: a run as one graph that needs no torch."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from phasefit.cli import options as opt

if TYPE_CHECKING:
    from rich.table import Table

    from phasefit.export.run_export import ExportResult
    from phasefit.runs.run import Run

EXPORTS = Path("exports")


def export(
    run: opt.Run,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The folder to write; default: exports/RUN-onnx, with the format and -int8 in its name.",
            metavar="FOLDER",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    format: Annotated[
        Literal["onnx", "openvino"],
        typer.Option(
            help="The library that will run it: ONNX Runtime, or OpenVINO, which is faster with int8 on Intel CPUs.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "onnx",
    int8: Annotated[
        bool,
        typer.Option(
            "--int8",
            help="Quantise weights and activations: a quarter to a third of the size, 2 to 5 times as fast as torch on "
            "CPUs with VNNI.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = False,
    texts: Annotated[
        str | None,
        typer.Option(
            help="Check and calibrate with this table (or task file) in place of the rows that the run was trained "
            "with. Labels are optional, but with 400 labelled rows or more, scores are compared.",
            metavar="FILE",
            rich_help_panel=opt.DATA,
        ),
    ] = None,
    with_texts: Annotated[
        bool,
        typer.Option(
            "--with-texts",
            help="Add the training texts with their labels and embeddings, for nearest texts. Without it, no text of "
            "your data is written.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Write the export even if it does not pass the checks; its manifest then states so.",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = False,
    overwrite: opt.Overwrite = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Export a run as one graph, from token ids to calibrated probabilities, that runs without torch.

    The graph is compared with torch before anything is written. In float32, outputs must agree to 0.0001 and decisions
    must be equal. With --int8, the score may fall by at most 0.5 points on 400 labelled rows or more (with fewer, 99 %
    of the decisions must be equal), and it must be at least 1.5 times as fast. Otherwise the export is refused.

    The rows are those of the run, read again from its table. If the table is gone or has changed, pass --texts FILE.

    $ phasefit export runs/reviews
    $ phasefit export runs/reviews --int8 -o reviews-int8
    $ phasefit export runs/reviews --int8 --format openvino
    $ phasefit export runs/reviews --int8 --texts new.csv --with-texts
    """
    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.inputs import check_encoder, check_run
    from phasefit.cli.progress import listener
    from phasefit.export.run_export import ExportOptions, check, export_run
    from phasefit.runs.run import Run

    check_run(run)
    opened = Run.open_model(run)
    check_encoder(opened)
    name = f"{opened.folder.resolve().name}-{format}{'-int8' if int8 else ''}"
    options = ExportOptions(EXPORTS / name if out is None else out, format, int8, texts, with_texts, force, overwrite)
    check(opened, options)
    with listener(quiet) as listen:
        result = export_run(opened, options, listen)
    if json:
        print_json({"folder": str(result.folder), "forced": result.forced, **result.figures.to_json()})
        return
    stdout().print(figures_table(result))
    stdout().print(f"The export is in {result.folder}", soft_wrap=True)
    if not quiet:
        show_next(opened, result.folder)


def show_next(run: Run, folder: Path) -> None:
    """Print the next commands."""
    from phasefit.cli.console import stdout

    name = shlex.quote(str(folder))
    if not run.heads:
        use = f"embed {name} new.csv -o vectors.npy"
    elif len(run.heads) > 1:
        use = f"predict {name} --task {next(iter(run.heads))} new.csv -o predictions.csv"
    elif any(head.get("pair") for head in run.heads.values()):
        use = f"predict {name} new.csv -o predictions.csv"
    else:
        use = f'predict {name} --say "your text"'
    stdout().print("\nNext:", style="bold")
    for command in (use, f"serve {name}"):
        stdout().print(f"  phasefit {command}", soft_wrap=True)


def figures_table(result: ExportResult) -> Table:
    """The figures of the checks."""
    from phasefit.cli.tables import new_table
    from phasefit.export.card import figure_rows

    table = new_table("check", "figure", right=(1,))
    for name, value in figure_rows(result.figures):
        table.add_row(name, value)
    return table
