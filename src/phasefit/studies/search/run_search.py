"""A whole search: trials on validation, the recipe file of the winner, its comparison on fresh seeds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phasefit.control_characters import one_line
from phasefit.errors import RecipeError, RunError
from phasefit.files.atomic import make_folders, write_text
from phasefit.files.toml import to_toml
from phasefit.recipes import list_recipes, parse_recipe, read_recipe
from phasefit.recipes.recipe_files import WHOLE
from phasefit.recipes.settings import Settings, merge_settings, setting_lines
from phasefit.runs.specification import DEFAULTS
from phasefit.studies.folder import StudyFolder
from phasefit.studies.ledger import Ledger
from phasefit.studies.pool import Listener, run_cells
from phasefit.studies.run_study import fresh_seeds, write_files
from phasefit.studies.search import optuna_study
from phasefit.studies.search.question import Question, without_test_rows
from phasefit.studies.search.report import (
    TrialHistory,
    proof_notes,
    read_history,
    recipe_header,
    trial_curve,
    verdict,
    write_trials,
)
from phasefit.studies.search.trials import Limits, TrialDone, Trials
from phasefit.studies.study import Data, Study, TableSpec, Variant
from phasefit.studies.tables import Table, fill

RECIPE = "best.toml"
SEAL = re.compile(r"^# question (\w+), checksum (\w+): .*\n", re.MULTILINE)
UNTUNED, TUNED = "(untuned)", "(tuned)"


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search that do not change its question."""

    limits: Limits
    storage: str | None = None
    pruner: optuna_study.Pruner = "median"
    fresh: int = 3
    out: Path | None = None
    recipe_out: Path | None = None
    overwrite: bool = False
    command: str = ""
    ledger: Ledger | None = None  # of the runs on fresh seeds; trials are shared by their storage


@dataclass(frozen=True)
class SearchResult:
    """The tuned recipe, its settings, and how they compare."""

    folder: Path
    recipe: Path
    settings: Settings
    history: TrialHistory
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = field(default=())


def run_search(
    question: Question,
    prepared: Any,
    options: SearchOptions,
    trial_done: Callable[[TrialDone], None],
    listen: Listener,
) -> SearchResult:
    """Run all missing trials and cells; the same call resumes a stopped search."""
    optuna_study.optuna()
    if options.limits.sampler == "grid":
        optuna_study.check_grid(question.space)
    name = f"search-{Path(str(question.spec.data.source)).stem}-{question.recipe.name}"
    content = {"search": question.digest}
    folder = StudyFolder.open(name, content, options.out, overwrite=options.overwrite, option="--study")
    kept = without_test_rows(question, prepared, folder.path)
    study = optuna_study.open_study(
        f"phasefit-{question.digest}",
        options.storage,
        folder.path,
        maximise=question.maximise,
        pruner=options.pruner,
    )
    Trials(kept, study, options.limits, trial_done).run(folder.cache)
    history = read_history(study, question)
    write_trials(folder.path, history)
    if history.best is None:
        raise RunError(f"no trial has finished ({folder.path}); use more --trials or --minutes")
    path = folder.path / RECIPE
    settings = merge_settings(question.spec.recipe.settings, history.best.settings)
    header = recipe_header(question, history, options.limits.seed, options.command)
    text = sealed(recipe_file(question.spec.recipe.name, settings, header), question.digest)
    for target in (path, *([options.recipe_out] if options.recipe_out is not None else [])):
        write_recipe(target, text)
    result = SearchResult(folder.path, path, settings, history)
    if options.fresh:
        result = _compare(kept, result, options, folder, listen)
    folder.finish({"command": options.command, "settings": setting_lines(settings)})
    return result


def _compare(
    question: Question, winner: SearchResult, options: SearchOptions, folder: StudyFolder, listen: Listener
) -> SearchResult:
    """Compare the winner with the original recipe on seeds that the search has not used."""
    study = _study(question, winner, options)
    cells = study.cells()
    results = run_cells(cells, folder.cache, engine=options.limits.engine, listen=listen, ledger=options.ledger)
    scored = "test" if any("test" in result.metrics for result in results.values()) else "validation"
    splits = dict.fromkeys((scored, "validation"))
    specs = [TableSpec(f"On fresh seeds, {split}", f"{split}.{question.score}") for split in splits]
    tables = tuple(fill(study, spec, cells, results) for spec in specs)
    notes = proof_notes(question, winner.history, winner.settings, options.limits.seed, study.seeds, scored)
    study = replace(study, notes=(verdict(tables[0], maximise=question.maximise), *notes))
    curves = trial_curve(winner.history, question)
    write_files(winner.folder, study, tables, cells, results, options.command, curves, "--fresh-seeds")
    return replace(winner, tables=tables, notes=study.notes)


def _study(question: Question, winner: SearchResult, options: SearchOptions) -> Study:
    spec = question.spec
    apart = {"data", "recipe", "settings", "seed", "out", "command", "score_test", "overwrite"}
    common = {name: value for name, value in spec.options().items() if name not in apart and value != DEFAULTS[name]}
    variants = (
        Variant(f"{question.recipe.name} {UNTUNED}", spec.recipe.name, spec.recipe.settings),
        Variant(f"{question.recipe.name} {TUNED}", str(winner.recipe)),
    )
    return Study(
        "search",
        f"Search for {question.recipe.name} on {question.dataset}",
        (Data(question.dataset, {"data": spec.data.source}),),
        variants,
        fresh_seeds(options.fresh, (options.limits.seed,)),
        common=common,
    )


def recipe_file(recipe: str, settings: Settings, header: Sequence[str]) -> str:
    """The tuned recipe as TOML.

    It lists the differences from a packaged recipe; all options if the recipe is a file or differences cannot express
    them.
    """
    wanted = read_recipe(recipe, settings)
    lines = "".join(f"# {one_line(line)}".rstrip() + "\n" for line in header)
    if recipe in {info.name for info in list_recipes()}:
        text = lines + _differences(recipe, settings)
        try:
            if parse_recipe(text, name=wanted.name, where="winner") == wanted:
                return text
        except RecipeError:
            pass
    return lines + wanted.to_toml().partition("\n")[2]


def _differences(recipe: str, settings: Settings) -> str:
    changes: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    for name, value in settings.items():
        *path, last = name.split(".")
        if not path and last in WHOLE:
            whole[last] = value
            continue
        table = changes
        for part in path:
            table = table.setdefault(part, {})
        table[last] = value
    return to_toml({"base": recipe, **whole, **({"set": changes} if changes else {})})


def sealed(text: str, question: str) -> str:
    """Add a header line by which a search recognises a file that it wrote and that was not edited."""
    lines = text.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    seal = f"# question {question}, checksum {_checksum(text)}: an edited file is replaced only with --overwrite\n"
    return "".join([*lines[:end], seal, *lines[end:]])


def question_of(path: Path) -> str | None:
    """Digest of the question whose search wrote a file; None for other and for edited files."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    seal = SEAL.search(text)
    if seal is None or seal[2] != _checksum(text.replace(seal[0], "", 1)):
        return None
    return seal[1]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_recipe(path: Path, text: str) -> None:
    """Write the recipe; its folder is created if needed."""
    make_folders(path.parent)
    write_text(path, text)
