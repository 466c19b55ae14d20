"""`phasefit search`: the best settings of a recipe on your data, checked on fresh seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from phasefit.cli import options as opt
from phasefit.cli.help import Panel
from phasefit.cli.run_options import MACHINE, ROWS, TABLES, options_from, run_options, typed_command
from phasefit.errors import PhasefitError

SEARCH = Panel("Search")


@run_options(
    *("settings", "model", *TABLES, *ROWS, "long", "seed"),
    *("out", "folder", "overwrite", "ledger", "json", "quiet", "jobs", "engine", *MACHINE),
    unseen="drop",
)
def search(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table, a dataset name, or a task file (.toml).")],
    recipe: opt.OneRecipe = "finetune",
    space: Annotated[
        str | None,
        typer.Option(
            help="The search space: default, finetune, three-phase, triple-entropy, label-aware, supcon, or a TOML "
            "file. Default: only the options of --try, or the space 'default' without any.",
            metavar="NAME",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    tries: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            help="An option and its values: finetune.lr=1e-5..1e-3 (a range) or finetune.head=mlp,linear. Repeat it "
            "for more.",
            metavar="NAME=VALUES",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            help="The number of trials, including those of an earlier run of the same search.",
            min=1,
            metavar="N",
            rich_help_panel=SEARCH,
        ),
    ] = 20,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Start no trial after N minutes; the final runs on fresh seeds are not included.",
            min=0,
            metavar="N",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    sampler: Annotated[
        Literal["tpe", "random", "grid"],
        typer.Option(
            help="tpe learns from earlier trials, random does not, grid tries every combination in random order.",
            rich_help_panel=SEARCH.advanced,
        ),
    ] = "tpe",
    pruner: Annotated[
        Literal["median", "hyperband", "none"],
        typer.Option(
            help="When to stop a trial after an epoch of its last phase: below the median of the others, by "
            "Hyperband's brackets, or never.",
            rich_help_panel=SEARCH.advanced,
        ),
    ] = "median",
    score: Annotated[
        str | None,
        typer.Option(
            help="The validation metric to optimise, e.g. macro_f1 or log_loss; default: accuracy, micro F1 for "
            "several labels, Pearson correlation for scores.",
            metavar="METRIC",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    fresh: Annotated[
        int,
        typer.Option(
            "--fresh-seeds",
            help="Train the best settings and the original recipe on N seeds that the search has not used; 0: skip "
            "this check.",
            min=0,
            metavar="N",
            rich_help_panel=SEARCH,
        ),
    ] = 3,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Where trials are stored, so that several machines can share a search: sqlite:///trials.db, "
            "postgresql://..., or a file on a shared disk (trials.journal); default: the folder of the study.",
            metavar="URL",
            rich_help_panel=SEARCH.advanced,
        ),
    ] = None,
    long: opt.Long = None,
    seed: opt.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The TOML file for the best recipe; the folder of the study has a copy.",
            metavar="FILE",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--study",
            help="The folder of the study; default: studies/search-NAME, then studies/search-NAME-2 ...",
            metavar="FOLDER",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    overwrite: opt.Overwrite = False,
    ledger: opt.LedgerFolder = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    jobs: opt.Jobs = 1,
    engine: opt.StudyEngine = "local",
    **options: Any,
) -> None:
    """Search for the best settings of a recipe on your data.

    Trials are compared by their validation score, and poor ones are stopped early. The best settings become a recipe
    file. It is then trained on fresh seeds, as is the original recipe, and scored on test rows that no trial has used.
    Finished trials are kept: the same command resumes the search, also with more --trials.

    $ phasefit search reviews.csv --recipe finetune --trials 20 -o best.toml
    $ phasefit search reviews.csv --try finetune.lr=1e-5..1e-3
    $ phasefit search trec --recipe triple-entropy --space triple-entropy
    $ phasefit search reviews.csv --storage postgresql://host/trials
    """
    from phasefit.cli.study_progress import show_trial, study_listener
    from phasefit.cli.study_tables import show_search
    from phasefit.engines.ray_cluster import chosen_engine
    from phasefit.events import Note
    from phasefit.recipes import read_recipe
    from phasefit.runs.specification import run_spec
    from phasefit.studies.ledger import open_ledger
    from phasefit.studies.ray_tasks import cell_engine
    from phasefit.studies.search import optuna_study
    from phasefit.studies.search.question import question_for
    from phasefit.studies.search.run_search import SearchOptions, run_search
    from phasefit.studies.search.space import Space, check_space
    from phasefit.studies.search.space_reading import DEFAULT, parse_tries, read_space
    from phasefit.studies.search.trials import Limits

    choice = chosen_engine(engine, jobs)
    common = options_from({**options, "long": long})
    settings = common.pop("settings")
    optuna_study.optuna()
    if storage is not None and not optuna_study.is_storage(storage):
        raise PhasefitError(
            f"--storage {storage} is not supported; use a URL such as sqlite:///trials.db, or a file ending in .journal"
        )
    if out is not None and out.suffix != ".toml":
        raise PhasefitError(f"--out {out} must end in .toml, because the recipe is a TOML file")
    known = read_recipe(recipe, settings)
    named = parse_tries(tries or (), known)
    dimensions = {} if space is None and named else read_space(space or DEFAULT, known).dimensions
    search_space = Space(space or (DEFAULT if not named else "--try"), {**dimensions, **named})
    check_space(search_space, recipe, settings)
    spec = run_spec(data, **common, recipe=recipe, settings=settings, seed=seed)
    question, prepared = question_for(Path(data).name, spec, search_space, score)
    if out is not None:
        check_recipe_out(out, question.digest, overwrite=overwrite)
    search_options = SearchOptions(
        Limits(trials, minutes, sampler, seed),
        storage,
        pruner,
        fresh,
        folder,
        out,
        overwrite,
        typed_command(),
        open_ledger(ledger),
    )
    with cell_engine(choice, common.get("threads")) as cells, study_listener(quiet) as listen:
        search_options = replace(search_options, limits=replace(search_options.limits, engine=cells))
        for note in prepared.source_notes:
            listen(Note(note))
        result = run_search(question, prepared, search_options, lambda done: show_trial(done, quiet), listen)
    show_search(result, out, json=json)


def check_recipe_out(path: Path, question: str, *, overwrite: bool) -> None:
    """Reject an unusable output file before any trial; a search may replace its own file."""
    from phasefit.cli.outputs import check_folder
    from phasefit.studies.search.run_search import question_of

    if path.is_dir():
        raise PhasefitError(f"--out {path} is a folder; give a file name")
    if path.exists() and not overwrite and question_of(path) != question:
        raise PhasefitError(
            f"--out {path} exists already (from another search, or edited); choose another name, or use --overwrite"
        )
    check_folder(path.parent)
