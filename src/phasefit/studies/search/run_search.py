"""A search from question to recipe: trials on validation, the winner written, then proved on fresh seeds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from phasefit.errors import RecipeError, RunError
from phasefit.files.atomic import write_text
from phasefit.files.toml import to_toml
from phasefit.recipes import list_recipes, parse_recipe, read_recipe
from phasefit.recipes.recipe_files import WHOLE
from phasefit.recipes.settings import Settings, merge_settings, setting_lines
from phasefit.runs.specification import DEFAULTS
from phasefit.studies.folder import StudyFolder
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
UNTUNED, TUNED = "as it is", "as found"


@dataclass(frozen=True)
class SearchOptions:
    """What a search is told beside its question."""

    limits: Limits
    storage: str | None = None
    pruner: optuna_study.Pruner = "median"
    fresh: int = 3
    out: Path | None = None
    recipe_out: Path | None = None
    overwrite: bool = False
    command: str = ""


@dataclass(frozen=True)
class SearchResult:
    """What came out."""

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
    """Run what is missing of everything; the same command goes on where it was stopped."""
    optuna_study.optuna()
    if options.limits.sampler == "grid":
        optuna_study.check_grid(question.space)
    name = f"search-{Path(str(question.spec.data.source)).stem}-{question.recipe.name}"
    asked = {"search": question.digest}
    folder = StudyFolder.open(name, asked, options.out, overwrite=options.overwrite, option="--study")
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
        raise RunError(f"no trial came to its end yet; give it more --trials or --minutes ({folder.path})")
    path = folder.path / RECIPE
    settings = merge_settings(question.spec.recipe.settings, history.best.settings)
    header = recipe_header(question, history, options.limits.seed, options.command)
    text = sealed(recipe_file(question.spec.recipe.name, settings, header), question.digest)
    for place in (path, *([options.recipe_out] if options.recipe_out is not None else [])):
        write_recipe(place, text)
    result = SearchResult(folder.path, path, settings, history)
    if options.fresh:
        result = _prove(kept, result, options, folder, listen)
    folder.finish({"command": options.command, "settings": setting_lines(settings)})
    return result


def _prove(
    question: Question, winner: SearchResult, options: SearchOptions, folder: StudyFolder, listen: Listener
) -> SearchResult:
    """The winner beside the recipe as it was, on seeds that the search has not used."""
    study = _study(question, winner, options)
    cells = study.cells()
    results = run_cells(cells, folder.cache, jobs=options.limits.jobs, listen=listen)
    scored = "test" if any("test" in result.metrics for result in results.values()) else "validation"
    splits = dict.fromkeys((scored, "validation"))
    specs = [TableSpec(f"On fresh seeds, {split}", f"{split}.{question.score}") for split in splits]
    tables = tuple(fill(study, spec, cells, results) for spec in specs)
    notes = proof_notes(question, winner.history, winner.settings, options.limits.seed, study.seeds, scored)
    study = replace(study, notes=(verdict(tables[0], maximise=question.maximise), *notes))
    curves = trial_curve(winner.history, question)
    write_files(winner.folder, study, tables, cells, results, options.command, curves)
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
    """A TOML with its differences to a packaged recipe; with every option where it is based on a file or they cannot
    be told as differences."""
    wanted = read_recipe(recipe, settings)
    lines = "".join(f"# {line}".rstrip() + "\n" for line in header)
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
    """The file with a last line of its header by which the search of that question knows it again, unedited."""
    lines = text.splitlines(keepends=True)
    place = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    seal = f"# question {question}, checksum {_checksum(text)}: once edited, no search replaces this file unasked\n"
    return "".join([*lines[:place], seal, *lines[place:]])


def question_of(path: Path) -> str | None:
    """Which question's search wrote a file; None where that was none, or somebody has edited it."""
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
    """Where it was asked for; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
