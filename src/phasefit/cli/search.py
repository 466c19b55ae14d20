"""`phasefit search`: the settings of a recipe that do best on your data, proved on fresh seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from phasefit.cli import options as opt
from phasefit.cli.run_options import MACHINE, ROWS, TABLES, options_from, run_options, typed_command
from phasefit.errors import PhasefitError

SEARCH = "Search"


@run_options(
    *("settings", "model", *TABLES, *ROWS, "long", "seed"),
    *("out", "folder", "overwrite", "json", "quiet", "jobs", *MACHINE),
    unseen="drop",
)
def search(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table, a dataset's name, or a task file (.toml).")],
    recipe: opt.DemoRecipe = "finetune",
    space: Annotated[
        str | None,
        typer.Option(
            help="What may be tried: a packaged space (default, finetune, three-phase, triple-entropy, label-aware, "
            "supcon) or a TOML file. If not given: default, or what --try names.",
            metavar="NAME",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    tries: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            help="One option and what to try for it: finetune.lr=1e-5..1e-3 (a range), finetune.head=mlp,linear. "
            "Repeat for more.",
            metavar="PHASE.OPTION=VALUES",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            help="So many trials in all, those of an earlier search for the same counted.",
            min=1,
            metavar="N",
            rich_help_panel=SEARCH,
        ),
    ] = 20,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Begin no trial after so many minutes; the proof on fresh seeds comes on top.",
            min=0,
            metavar="N",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    sampler: Annotated[
        Literal["tpe", "random", "grid"],
        typer.Option(
            help="tpe learns from the trials before, random does not, grid tries every point, in random order.",
            rich_help_panel=SEARCH,
        ),
    ] = "tpe",
    pruner: Annotated[
        Literal["median", "hyperband", "none"],
        typer.Option(
            help="When a trial is given up, epoch by epoch of its last phase: below the median of the others, by "
            "Hyperband's brackets, or never.",
            rich_help_panel=SEARCH,
        ),
    ] = "median",
    score: Annotated[
        str | None,
        typer.Option(
            help="The validation score to search by: macro_f1, log_loss ... If not given: accuracy, micro F1 of "
            "several labels, Pearson's correlation of scores.",
            metavar="NAME",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    fresh: Annotated[
        int,
        typer.Option(
            "--fresh-seeds",
            help="Prove the winner on so many seeds that the search has not used, beside the recipe as it was; 0: do "
            "not, and claim nothing.",
            min=0,
            metavar="N",
            rich_help_panel=SEARCH,
        ),
    ] = 3,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Where trials are kept, so that many machines can work on one search: sqlite:///trials.db, "
            "postgresql://..., or a file on a shared disk, trials.journal. If not given: in the study's folder.",
            metavar="URL",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    long: opt.Long = None,
    seed: opt.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Where the recipe goes, as a TOML file; it is in the study's folder as well.",
            metavar="FILE",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--study",
            help="The folder of the study; if not given studies/search-NAME, then studies/search-NAME-2 ...",
            metavar="FOLDER",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    jobs: opt.Jobs = 1,
    **options: Any,
) -> None:
    """Which settings of a recipe do best on your data?

    Trials are trained on the same rows, each in a process of its own, and compared by their validation score; those
    that fall behind are given up. The best becomes a recipe file and is trained again on fresh seeds, beside the recipe
    as it was: only those scores, on test rows that no trial has seen, are claimed. What is done is kept: the same
    command goes on, with a higher --trials too.

    [bold]phasefit search reviews.csv --recipe finetune --trials 20 -o best.toml[/]

    [bold]phasefit search reviews.csv --try finetune.lr=1e-5..1e-3 --try finetune.head=mlp,linear[/]

    [bold]phasefit search trec --recipe triple-entropy --space triple-entropy --jobs 2[/]

    [bold]phasefit search reviews.csv --storage postgresql://host/trials[/]
    """
    from phasefit.cli.study_progress import show_trial, study_listener
    from phasefit.cli.study_tables import show_search
    from phasefit.recipes import read_recipe
    from phasefit.runs.specification import run_spec
    from phasefit.studies.search import optuna_study
    from phasefit.studies.search.question import question_for
    from phasefit.studies.search.run_search import SearchOptions, run_search
    from phasefit.studies.search.space import Space, check_space
    from phasefit.studies.search.space_reading import DEFAULT, parse_tries, read_space
    from phasefit.studies.search.trials import Limits

    common = options_from({**options, "long": long})
    settings = common.pop("settings")
    optuna_study.optuna()
    if storage is not None and not optuna_study.is_storage(storage):
        raise PhasefitError(
            f"--storage {storage}: give a URL such as sqlite:///trials.db, or a file that ends in .journal"
        )
    if out is not None and out.suffix != ".toml":
        raise PhasefitError(f"--out {out}: the recipe is a TOML file; give a name that ends in .toml")
    known = read_recipe(recipe, settings)
    named = parse_tries(tries or (), known)
    own = {} if space is None and named else read_space(space or DEFAULT, known).dimensions
    where = Space(space or (DEFAULT if not named else "--try"), {**own, **named})
    check_space(where, recipe, settings)
    spec = run_spec(data, **common, recipe=recipe, settings=settings, seed=seed)
    question, prepared = question_for(Path(data).name, spec, where, score)
    if out is not None:
        check_recipe_out(out, question.digest, overwrite=overwrite)
    how = SearchOptions(
        Limits(trials, minutes, sampler, seed, jobs),
        storage,
        pruner,
        fresh,
        folder,
        out,
        overwrite,
        typed_command(),
    )
    with study_listener(quiet) as listen:
        result = run_search(question, prepared, how, lambda done: show_trial(done, quiet), listen)
    show_search(result, out, json=json)


def check_recipe_out(path: Path, question: str, *, overwrite: bool) -> None:
    """Refuse, before any trial, a file that is not there for the taking; a search may write its own again."""
    from phasefit.cli.outputs import check_folder
    from phasefit.studies.search.run_search import question_of

    if path.is_dir():
        raise PhasefitError(f"--out {path} is a folder; give the name of a file")
    if path.exists() and not overwrite and question_of(path) != question:
        raise PhasefitError(
            f"--out {path} exists already, and is not this search's own or was edited; give another name or --overwrite"
        )
    check_folder(path.parent)
