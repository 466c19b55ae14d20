"""Whether a recipe and a specification fit the labels at hand, before anything is trained or written. No torch."""

from __future__ import annotations

from phasefit.errors import DataError, RecipeError
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe
from phasefit.recipes.settings import setting_line
from phasefit.runs.specification import RunSpec

SINGLE = "pair says how a head sees pairs of texts, and these are single texts; leave it out"


def check_recipe(spec: RunSpec, recipe: Recipe, prepared: Prepared) -> None:
    """A later phase must not be the first to say that it cannot use these labels."""
    check_reject(spec, prepared)
    check_pair(spec, recipe, prepared)
    kinds = {name: task.space.kind for name, task in prepared.tasks.items()} or {"": prepared.space.kind}
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        options.check_kinds(name, kinds)


def check_reject(spec: RunSpec, prepared: Prepared) -> None:
    """A threshold needs rows that it can be chosen on, and answers that can be withheld."""
    if not 0 <= spec.recipe.reject < 1:
        raise DataError(f"--reject is a share of the validation rows from 0 to below 1, not {spec.recipe.reject}")
    if not spec.recipe.reject:
        return
    if prepared.tasks:
        raise DataError("--reject is about one task, and there are several; leave it out")
    space, validation = prepared.space, prepared.validation
    if why := kind_of(space).no_reject:
        raise DataError(f"--reject is about one class per text, and the labels are of kind '{space.kind}': {why}")
    if validation is None or validation.labels is None:
        raise DataError("--reject chooses its threshold on validation rows, and there are none; give --validation")


def check_pair(spec: RunSpec, recipe: Recipe, prepared: Prepared) -> None:
    """How a head sees pairs is not passed over in silence where there are single texts.

    Recipes may say it all the same: they are for pairs and for single texts.
    """
    for task in prepared.file.tasks if prepared.file is not None else ():
        if "pair" in task.head and not prepared.tasks[task.name].train.others:
            file = prepared.file.name if prepared.file is not None else ""
            raise DataError(f"{file}.toml, task '{task.name}': {SINGLE}")
    for path, value in spec.recipe.settings.items():
        match path.split("."):
            case [phase, "pair"] if phase in recipe.phase_names and not prepared.tasks:
                others = prepared.train.others
            case [_, "tasks", name, "pair"] if name in prepared.tasks:
                others = prepared.tasks[name].train.others
            case _:
                continue
        if not others:
            raise RecipeError(f"--set {setting_line(path, value)}: {SINGLE}")


def idle_notes(recipe: Recipe, prepared: Prepared) -> list[str]:
    """What was asked for and does not act, but does no harm either."""
    if recipe.long != "windows":
        return []
    together: dict[str, bool] = {}  # by where it is said, the last word of a task counting
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        for task, head in options.heads().items():
            own = prepared.tasks.get(task) if task else prepared
            if own is not None:
                together[f"task '{task}'" if task else name] = head.pair == "together" and bool(own.train.others)
    return [
        f"--long windows does not act on {where}: both texts of a pair are one input (pair = 'together'), and the "
        "longer one is cut until they fit"
        for where, is_one_input in together.items()
        if is_one_input
    ]
