"""The recipe of those who name none: it follows from how many rows there are per class. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from phasefit.data.task_file import is_task_file
from phasefit.errors import RecipeError
from phasefit.events import Note
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe, parse_recipe, read_recipe
from phasefit.recipes.settings import merge_settings
from phasefit.runs.recipe.check import check_recipe, idle_notes
from phasefit.runs.run import Run
from phasefit.runs.specification import AUTO, DEFAULT_RECIPE, RunSpec

MANY, FEW, PLAIN = "three-phase", "few-shot", "finetune"
TASKS = "multitask"
FEW_ROWS = 32  # training rows per class, in the mean


def requested_recipe(spec: RunSpec) -> Recipe:
    """The recipe that is asked for; that for many rows as long as nobody knows how many there are."""
    if spec.recipe.recipe_toml is not None:
        name, settings = spec.recipe.name, spec.recipe.settings
        return parse_recipe(spec.recipe.recipe_toml, name=name, where=name, settings=settings)
    if spec.recipe.name == AUTO:
        raise RecipeError(
            "the recipe 'auto' is chosen on the command line: phasefit train DATA --recipe auto --minutes 10; what it "
            "chose is in the run's recipe.toml and can be named here"
        )
    if spec.recipe.name != DEFAULT_RECIPE:
        return read_recipe(spec.recipe.name, spec.recipe.settings)
    if is_task_file(spec.data.source):
        return read_recipe(TASKS, spec.recipe.settings)
    return _keeping_head(spec, MANY)


def resolve_recipe(spec: RunSpec, recipe: Recipe, prepared: Prepared, listen: Callable[[Note], None]) -> Recipe:
    """The recipe for these rows, which it was found to fit."""
    resolved = _for_rows(spec, recipe, prepared, listen)
    check_recipe(spec, resolved, prepared)
    for note in idle_notes(resolved, prepared):
        listen(Note(note))
    return resolved


def _for_rows(spec: RunSpec, recipe: Recipe, prepared: Prepared, listen: Callable[[Note], None]) -> Recipe:
    """Another one only where none was named, rows are few and nothing else speaks for it."""
    if prepared.file is not None:
        return recipe.with_tasks(prepared.file)
    if spec.recipe.name != DEFAULT_RECIPE:
        return recipe
    if prepared.train.others or not kind_of(prepared.space).has_classes:
        what = "pairs of texts" if prepared.train.others else "scores"
        recipe = _keeping_head(spec, PLAIN)
        listen(Note(f"no recipe is named: {recipe.name}, for {what}; --recipe names another"))
        return recipe
    each = len(prepared.train) / max(len(prepared.space), 1)
    reason = f"for {each:,.0f} training rows per class"
    if each > FEW_ROWS:
        pass
    elif _only_head(spec.model) is not None:
        reason = "which goes on with the head of the run"
    elif prepared.unlabelled is not None:
        reason = "because there are unlabelled texts to denoise"
    else:
        recipe, reason = _for_few(spec, recipe, reason)
    listen(Note(f"no recipe is named: {recipe.name}, {reason}; --recipe names another"))
    return recipe


def _keeping_head(spec: RunSpec, name: str) -> Recipe:
    """The recipe of that name, set to keep the head of a run that training goes on from."""
    kept: dict[str, Any] = {}
    head = _only_head(spec.model)
    if head is not None:
        usual = read_recipe(name)
        options = {"head": head["kind"], "pair": head.get("pair")}
        phases = [phase for phase, own in zip(usual.phase_names, usual.phases, strict=True) if own.grows_head]
        kept = {f"{phase}.{option}": value for phase in phases for option, value in options.items() if value}
    return read_recipe(name, merge_settings(kept, spec.recipe.settings))


def _for_few(spec: RunSpec, other: Recipe, reason: str) -> tuple[Recipe, str]:
    with suppress(RecipeError):
        return read_recipe(FEW, spec.recipe.settings), reason
    return other, f"because {FEW} does not take what --set says"


def _only_head(model: str | None) -> dict[str, Any] | None:
    """The head of a run that training goes on from: one of another kind would begin anew. Of several tasks none."""
    heads = [] if model is None else [head for head in Run.open_model(model).heads.values() if "kind" in head]
    return heads[0] if len(heads) == 1 else None
