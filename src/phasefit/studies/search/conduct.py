"""A search from question to recipe: trials on validation, the winner written, then proved on fresh seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from phasefit.errors import RunError
from phasefit.prepare.request import TrainRequest
from phasefit.studies.folder import StudyFolder
from phasefit.studies.pool import Listener, run_cells
from phasefit.studies.run_study import fresh_seeds, write_files
from phasefit.studies.search import optuna_study as library
from phasefit.studies.search.findings import Found, found_in, trial_curve, write_trials
from phasefit.studies.search.question import Question, held_apart
from phasefit.studies.search.trials import Limits, TrialDone, Trials
from phasefit.studies.search.winner import recipe_file, sealed, write_recipe
from phasefit.studies.study import Data, Study, TableSpec, Variant
from phasefit.studies.tables import Table, fill

RECIPE = "best.toml"
UNTUNED, TUNED = "as it is", "as found"


@dataclass(frozen=True)
class Asked:
    """What a search is told beside its question."""

    limits: Limits
    storage: str | None = None
    pruner: library.Pruner = "median"
    fresh: int = 3
    out: Path | None = None
    recipe_out: Path | None = None
    overwrite: bool = False
    command: str = ""


@dataclass(frozen=True)
class Searched:
    """What came out."""

    folder: Path
    recipe: Path
    settings: tuple[str, ...]
    found: Found
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = field(default=())


def search(
    question: Question,
    prepared: Any,
    asked: Asked,
    told: Callable[[TrialDone], None],
    listen: Listener,
) -> Searched:
    """Run what is missing of everything; the same command goes on where it was stopped."""
    library.optuna()
    if asked.limits.sampler == "grid":
        library.check_grid(question.space)
    name = f"search-{Path(str(question.request.data)).stem}-{question.recipe.name}"
    known = {"search": question.digest}
    folder = StudyFolder.open(name, known, asked.out, overwrite=asked.overwrite, option="--study")
    kept = held_apart(question, prepared, folder.path)
    study = library.open_study(
        f"phasefit-{question.digest}",
        asked.storage,
        folder.path,
        maximise=question.maximise,
        pruner=asked.pruner,
    )
    Trials(kept, study, asked.limits, told).run(folder.cache)
    found = found_in(study, question)
    write_trials(folder.path, found)
    if found.best is None:
        raise RunError(f"no trial came to its end yet; give it more --trials or --minutes ({folder.path})")
    path = folder.path / RECIPE
    settings = (*question.request.settings, *found.best.settings)
    text = sealed(recipe_file(question.request.recipe, settings, _header(question, found, asked)), question.digest)
    for place in (path, *([asked.recipe_out] if asked.recipe_out is not None else [])):
        write_recipe(place, text)
    searched = Searched(folder.path, path, settings, found)
    if asked.fresh:
        searched = _proved(kept, searched, asked, folder, listen)
    folder.finish({"command": asked.command, "settings": list(settings)})
    return searched


def _proved(question: Question, searched: Searched, asked: Asked, folder: StudyFolder, listen: Listener) -> Searched:
    """The winner beside the recipe as it was, on seeds that the search has not used."""
    study = _study(question, searched, asked)
    cells = study.cells()
    results = run_cells(cells, folder.cache, jobs=asked.limits.jobs, listen=listen)
    scored = "test" if any("test" in result.metrics for result in results.values()) else "validation"
    splits = dict.fromkeys((scored, "validation"))
    specs = [TableSpec(_titles(split), f"{split}.{question.score}") for split in splits]
    tables = tuple(fill(study, spec, cells, results) for spec in specs)
    notes = (verdict(tables[0], maximise=question.maximise), *_notes(question, searched, asked, scored))
    study = replace(study, notes=notes)
    curves = trial_curve(searched.found, question)
    write_files(searched.folder, study, tables, cells, results, asked.command, curves)
    return replace(searched, tables=tables, notes=study.notes)


def _study(question: Question, searched: Searched, asked: Asked) -> Study:
    request = question.request
    apart = {"data", "recipe", "settings", "seed", "out", "command", "score_test", "overwrite"}
    empty = TrainRequest(None)
    common = {
        one.name: getattr(request, one.name)
        for one in fields(TrainRequest)
        if one.name not in apart and getattr(request, one.name) != getattr(empty, one.name)
    }
    variants = (
        Variant(f"{question.recipe.name} {UNTUNED}", request.recipe, request.settings),
        Variant(f"{question.recipe.name} {TUNED}", str(searched.recipe)),
    )
    return Study(
        "search",
        f"Search for {question.recipe.name} on {question.dataset}",
        (Data(question.dataset, {"data": request.data}),),
        variants,
        fresh_seeds(asked.fresh, (asked.limits.seed,)),
        common=common,
    )


def verdict(table: Table, *, maximise: bool) -> str:
    """Whether the settings found are worth having: the difference on fresh seeds and its interval."""
    tuned = table.rows[-1] if table.rows else None
    if tuned is None or tuned.difference is None:
        return "The settings found could not be compared with the recipe as it is."
    said = f"on fresh seeds the difference is {tuned.difference:+.4f}"
    low, high = tuned.difference_low, tuned.difference_high
    if low is None or high is None:
        of = "of one seed" if tuned.n < 2 else f"the same difference with all {tuned.n} seeds"
        return f"Whether the settings found are better is not known: {said}, {of}."
    said += f", 95 % interval {low:+.4f} to {high:+.4f}"
    if low > 0 or high < 0:
        is_better = (low > 0) == maximise
        return f"The settings found are {'better than' if is_better else 'worse than'} the recipe as it is: {said}."
    return f"The settings found are not proved better than the recipe as it is: {said}."


def _titles(split: str) -> str:
    return f"On fresh seeds, {split}"


def _notes(question: Question, searched: Searched, asked: Asked, scored: str) -> tuple[str, ...]:
    found = searched.found
    seeds = ", ".join(map(str, fresh_seeds(asked.fresh, (asked.limits.seed,))))
    own = f"the search's own best, {_own_best(question, found, asked)}, is too good"
    claim = f"What is claimed is the table of fresh seeds ({seeds}), on test rows that no trial has seen; {own}."
    claim += " Intervals are over seeds, on the same test rows: how few those are is not in them."
    if scored != "test":
        claim = (
            f"There is no test: fresh seeds ({seeds}) score rows that the search looked at; {own}, and so may they be."
        )
    said = [
        claim,
        became_of(question, found),
        f"Settings found: {', '.join(searched.settings) or 'those of the recipe'}.",
    ]
    if found.importances:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(found.importances.items())[:8])
        said.append(f"What mattered (fANOVA, share of the variance of the scores): {shares}.")
    return tuple(said)


def became_of(question: Question, found: Found) -> str:
    """How many trials there were of which kind; and whether there is anything left to try."""
    said = f"Trials: {found.complete} complete, {found.pruned} given up early, {found.failed} failed"
    said += f", {found.stopped} cut off and begun anew" if found.stopped else ""
    said += f", {found.repeated} drawn a second time and not run again" if found.repeated else ""
    size = question.space.size
    if size is not None and found.complete + found.pruned >= size:
        said += f"; these are all {size} points of the space, and more --trials would add none"
    return f"{said}."


def _header(question: Question, found: Found, asked: Asked) -> Sequence[str]:
    return [
        f"{question.recipe.name} with the settings that a search found best on {question.dataset}",
        f"  {asked.command}",
        f"{_own_best(question, found, asked)}; being the best it is",
        "optimistic: the study's report has the scores on fresh seeds",
    ]


def _own_best(question: Question, found: Found, asked: Asked) -> str:
    score = None if found.best is None else found.best.score
    said = "none" if score is None else f"{score:.4f}"
    return f"validation {question.score} {said} with seed {asked.limits.seed}, the best of {found.complete} trials"
