"""`phasefit reproduce`: the tables of a paper, with our results next to the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.cli.help import Panel
from phasefit.cli.run_options import typed_command
from phasefit.errors import PhasefitError

if TYPE_CHECKING:
    from phasefit.studies.scaling import ScaledStudy
    from phasefit.studies.study import Study
    from phasefit.studies.study_reading import StudyInfo

PIECES = Panel("Pieces of a study")


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="three-phase, triple-entropy, label-aware, mirror, multitask, tree, or your own study file (TOML). "
            "Without NAME, lists the studies and their tables.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            "-t",
            help="Only the table with this number; repeat it for more.",
            metavar="N",
            rich_help_panel=opt.TRAINING,
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            help="quick: a check that the study runs, in about 15 minutes on two cores; evening: its most informative "
            "runs, a few hours on one core; full: the paper's protocol. The tables state all reductions. Default: "
            "quick, or full for a study file without a quick scale.",
            metavar="quick|evening|full",
            rich_help_panel=opt.TRAINING,
        ),
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            "--datasets",
            help="Only these datasets, as named in the tables; may include datasets that the scale skips.",
            metavar="A,B",
            rich_help_panel=opt.DATA,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="The number of seeds; default: as in the study.", min=1, metavar="N", rich_help_panel=opt.TRAINING
        ),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Print the number of runs, the reductions and missing datasets, without training.",
            rich_help_panel=opt.TRAINING,
        ),
    ] = False,
    no_run: Annotated[
        bool,
        typer.Option(
            "--no-run",
            help="Write the tables from finished runs only, and list the missing ones with an estimate of their time.",
            rich_help_panel=PIECES,
        ),
    ] = False,
    part: Annotated[
        str | None,
        typer.Option(
            help="Run only one of several equal parts of the study, for example 1/2 on one machine and 2/2 on another.",
            metavar="K/N",
            rich_help_panel=PIECES,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Start no run after N minutes, and write the tables from what is finished.",
            min=0,
            metavar="N",
            rich_help_panel=PIECES,
        ),
    ] = None,
    model: opt.Model = None,
    data_dir: opt.DataDir = None,
    out: opt.StudyOut = None,
    overwrite: opt.Overwrite = False,
    ledger: opt.LedgerFolder = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    jobs: opt.Jobs = 1,
    engine: opt.StudyEngine = "local",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Reproduce the tables of a paper, with our results next to the published ones.

    Finished runs are kept: the same command resumes a stopped study, and tables share their runs. The folder has every
    table as CSV, Markdown, LaTeX and JSON, and a report. You can write your own study file: see docs/reproduce.md.

    $ phasefit reproduce                           list the studies
    $ phasefit reproduce three-phase --jobs 2      all its tables, in 15 minutes
    $ phasefit reproduce three-phase --table 3 --datasets SNIPS --scale full
    $ phasefit reproduce triple-entropy --scale full --plan
    $ phasefit reproduce three-phase --ledger results --part 1/2 --minutes 60
    $ phasefit reproduce three-phase --ledger results --no-run
    """
    from phasefit.engines.ray_cluster import chosen_engine
    from phasefit.studies.ledger import open_ledger
    from phasefit.studies.missing_cells import Portion
    from phasefit.studies.plan import refuse_missing
    from phasefit.studies.ray_tasks import cell_engine
    from phasefit.studies.scaling import Selection, scale_study
    from phasefit.studies.study import with_common
    from phasefit.studies.study_reading import find_study

    if name is None:
        list_all(json)
        return
    choice = chosen_engine(engine, jobs)
    info = find_study(name)
    scale = scale or ("quick" if "quick" in info.file.scale else "full")
    names = tuple(part.strip() for part in (datasets or "").split(",") if part.strip())
    study_folder = None if info.packaged else info.path.parent
    scaled = scale_study(info.file, info.name, Selection(scale, names, tuple(table or ()), seeds, model), study_folder)
    study = with_common(scaled.study, model=model, device=device, threads=threads, data_dir=data_dir)
    if plan:
        show_plan(info, scaled, study, scale, data_dir, json)
        return
    refuse_missing(study, data_dir)
    portion = Portion(open_ledger(ledger), not no_run, parse_part(part), minutes)
    with cell_engine(choice, threads) as cells:
        where = {"out": out, "overwrite": overwrite, "engine": cells, "portion": portion}
        run(scaled, study, where, data_dir, quiet, json)


def parse_part(value: str | None) -> tuple[int, int]:
    """The part and the number of parts, from K/N."""
    if value is None:
        return 1, 1
    which, slash, number = value.partition("/")
    if not slash or not which.isdecimal() or not number.isdecimal():
        raise PhasefitError(f"--part {value} is not of the form K/N; write 1/2 for the first of two parts")
    return int(which), int(number)


def run(
    scaled: ScaledStudy, study: Study, where: dict[str, Any], data_dir: Path | None, quiet: bool, json: bool
) -> None:
    """Run the study, then write and print tables and figures."""
    from phasefit.cli.study_progress import study_listener
    from phasefit.cli.study_tables import show_study
    from phasefit.studies.figures import Figures
    from phasefit.studies.run_study import run_study

    figures = Figures(scaled.figures, study, scaled.whole, data_dir)
    with study_listener(quiet) as listen:
        done = run_study(study, listen, command=typed_command(), curves=figures.for_page, **where)
    figures.write(done.folder, done.cells, done.results)
    show_study(done, json=json)


def list_all(json: bool) -> None:
    """List the packaged studies with their tables."""
    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.tables import new_table
    from phasefit.studies.study_reading import list_studies

    studies = list_studies()
    if json:
        tables = {
            info.name: [{"number": str(one.number), "title": one.title} for one in info.file.table] for info in studies
        }
        print_json(
            [
                {"name": info.name, "title": info.file.title, "paper": info.file.paper, "tables": tables[info.name]}
                for info in studies
            ]
        )
        return
    shown = new_table("study", "description", "tables")
    for info in studies:
        tables_of = "\n".join(f"{one.number}: {one.title}" for one in info.file.table)
        shown.add_row(info.name, f"{info.file.title}\n({info.file.paper})", tables_of)
    stdout().print(shown)
    stdout().print("Next: phasefit reproduce NAME --plan, phasefit reproduce NAME --table N, --scale full")


def show_plan(
    info: StudyInfo, scaled: ScaledStudy, study: Study, scale: str, data_dir: Path | None, json: bool
) -> None:
    """Print the runs, the reductions and the missing datasets, without training."""
    from phasefit.cli.console import print_json, stdout
    from phasefit.studies.plan import plan_of, runs_per_dataset

    plan = plan_of(study, data_dir)
    if json:
        print_json({"study": info.name, "scale": scale, **plan, "cut": list(scaled.changes)})
        return
    write = stdout().print
    seeds = "1 seed" if len(study.seeds) == 1 else f"{len(study.seeds)} seeds"
    folds = f" x {study.folds} folds" if study.folds else ""
    write(f"{info.file.title} ({info.file.paper}), {scale} scale", soft_wrap=True, markup=False)
    each = ", ".join(f"{name} {count}" for name, count in runs_per_dataset(study).items())
    write(f"{plan['runs']:,} runs, {seeds}{folds}: {each}", soft_wrap=True, markup=False)
    write(f"variants: {'; '.join(plan['variants'])}", soft_wrap=True, markup=False)  # names may contain commas
    for title in plan["tables"]:
        write(f"  {title}", soft_wrap=True, markup=False)
    for note in plan["notes"]:
        write(f"- {note}", soft_wrap=True, markup=False)
    missing = [f"{name} ({source})" for name, source in plan["missing"].items()]
    write(f"not on this machine: {', '.join(missing)}" if missing else "all datasets are on this machine", markup=False)
