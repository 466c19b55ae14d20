"""`phasefit compare`: several recipes on the same rows, with intervals and significance tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.cli.run_options import MACHINE, ROWS, TABLES, options_from, run_options, typed_command
from phasefit.errors import DataError, PhasefitError

RECIPES = "majority,tfidf,frozen,finetune,three-phase"


@run_options(
    *("settings", "model", *TABLES, *ROWS, "long"),
    *("out", "overwrite", "ledger", "keep_runs", "json", "quiet", "jobs", "engine", *MACHINE),
    unseen="drop",
)
def compare(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Tables: files or dataset names. With several, recipes are also compared across all of them.",
        ),
    ],
    recipes: Annotated[
        str,
        typer.Option(
            "--recipes",
            "-r",
            help="Recipes, recipe files (TOML) and baselines (majority, tfidf, frozen, setfit); all are compared with "
            "the first. Add settings after a colon: finetune:finetune.lr=1e-5+finetune.epochs=3.",
            metavar="A,B,C",
            rich_help_panel=opt.TRAINING,
        ),
    ] = RECIPES,
    seeds: opt.Seeds = 3,
    folds: opt.Folds = None,
    score: opt.Score = None,
    long: opt.Long = None,
    out: opt.StudyOut = None,
    overwrite: opt.Overwrite = False,
    ledger: opt.LedgerFolder = None,
    keep_runs: opt.KeepRuns = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    jobs: opt.Jobs = 1,
    engine: opt.StudyEngine = "local",
    **options: Any,
) -> None:
    """Compare recipes on your data, with confidence intervals and significance tests.

    Every recipe is trained with every seed (and on every fold) on the same rows. A sentence states what is better, by
    how much and how certain. The table shows means with 95 % intervals, which cover the seeds and the number of test
    rows, paired tests against the first recipe, ranks, minutes and peak memory. The folder has the results as CSV,
    Markdown, LaTeX and JSON, and a report. Finished runs are kept: the same command resumes a stopped study, and other
    studies reuse its runs.

    $ phasefit compare reviews.csv --recipes finetune,three-phase --seeds 5
    $ phasefit compare cr mr subj --recipes tfidf,finetune --folds 5 --seeds 1
    $ phasefit compare reviews.csv -r finetune,finetune:finetune.lr=1e-5 --jobs 2
    """
    from phasefit.cli.study_progress import study_listener
    from phasefit.cli.study_tables import show_study
    from phasefit.engines.ray_cluster import chosen_engine
    from phasefit.studies.ledger import open_ledger
    from phasefit.studies.missing_cells import Portion
    from phasefit.studies.ray_tasks import cell_engine
    from phasefit.studies.run_study import run_study, seeds_of
    from phasefit.studies.study import Data, Study, TableSpec, check_settings, variant_of

    choice = chosen_engine(engine, jobs)
    variants = tuple(variant_of(part.strip()) for part in recipes.split(",") if part.strip())
    if not variants:
        raise PhasefitError("--recipes is empty; see 'phasefit recipes' for names")
    names = [Path(one).name for one in data]
    if len({*names}) < len(names):
        raise DataError("two tables have the same name; rename one")
    one_table = ("validation", "test", "unlabelled")
    if len(data) > 1 and any(options[name] is not None for name in one_table):
        raise DataError(
            "--validation, --test and --unlabelled need a single DATA; remove them, or compare one table at a time"
        )
    common = options_from({**options, "long": long})
    settings = common.pop("settings")
    check_settings(settings, variants)
    study = Study(
        name="-".join(Path(one).stem.removesuffix(".csv") for one in data[:3]) + ("-and-more" if len(data) > 3 else ""),
        title=f"{', '.join(variant.name for variant in variants)} on {', '.join(names)}",
        datasets=tuple(Data(name, {"data": one}, settings) for name, one in zip(names, data, strict=True)),
        variants=variants,
        seeds=seeds_of(seeds),
        folds=folds,
        tables=(TableSpec("Comparison", score if score is None or "." in score else f"test.{score}"),),
        common=common,
    )
    with cell_engine(choice, common.get("threads")) as cells, study_listener(quiet) as listen:
        result = run_study(
            study,
            listen,
            out=out,
            overwrite=overwrite,
            engine=cells,
            keep_runs=keep_runs,
            command=typed_command(),
            portion=Portion(open_ledger(ledger)),
        )
    show_study(result, json=json, verdicts=True)
