"""Check that a recipe and a specification fit the labels, before anything is trained or written. No torch."""

from __future__ import annotations

from phasefit.data.stored_texts import StoredTexts
from phasefit.errors import DataError, RecipeError
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe, list_recipes, read_recipe
from phasefit.recipes.recipe import TFIDF
from phasefit.recipes.settings import setting_line
from phasefit.runs.specification import RunSpec

SINGLE = "pair sets how a head reads pairs of texts, but these are single texts; remove it"


def check_recipe(spec: RunSpec, recipe: Recipe, prepared: Prepared) -> None:
    """Refuse labels that any phase cannot use, before the first phase is trained."""
    if recipe.baseline is not None:
        check_baseline(spec, recipe, prepared)
    check_reject(spec, prepared)
    check_pair(spec, recipe, prepared)
    kinds = {name: task.space.kind for name, task in prepared.tasks.items()} or {"": prepared.space.kind}
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        options.check_kinds(name, kinds)
        if not prepared.tasks and prepared.train.labels is not None:
            options.check_classes(name, prepared.space)
        if options.needs_unlabelled and prepared.unlabelled is None:
            raise RecipeError(
                f"{name}: learns from unlabelled texts, but there are none; give a table of them with --unlabelled "
                "(unlabelled= in Python)"
            )


def check_baseline(spec: RunSpec, recipe: Recipe, prepared: Prepared) -> None:
    """Refuse what a recipe without phases does not support."""
    if prepared.tasks:
        raise RecipeError(f"recipe '{recipe.baseline}' supports one table only; train a task file with multitask")
    if recipe.baseline == TFIDF and spec.model is not None:
        raise RecipeError(f"recipe '{TFIDF}' has no encoder, so --model has no effect; remove it")
    idle = {"--precision": spec.machine.precision not in ("auto", "no"), "--compile": spec.machine.compile}
    for option, given in idle.items():
        if given:
            raise RecipeError(f"recipe '{recipe.baseline}' trains no encoder, so {option} has no effect; remove it")


def check_reject(spec: RunSpec, prepared: Prepared) -> None:
    """Refuse `reject` without validation rows to choose the threshold on, or for labels that cannot be withheld."""
    if not 0 <= spec.recipe.reject < 1:
        raise DataError(f"--reject must be a share of the validation rows (0 to below 1), not {spec.recipe.reject}")
    if not spec.recipe.reject:
        return
    if prepared.tasks:
        raise DataError("--reject works with a single task, but there are several; remove it")
    space, validation = prepared.space, prepared.validation
    if why := kind_of(space).no_reject:
        raise DataError(f"--reject needs one class per text, but the labels are of kind '{space.kind}': {why}")
    if validation is None or validation.labels is None:
        raise DataError("--reject chooses its threshold on validation rows, but there are none; give --validation")


def check_pair(spec: RunSpec, recipe: Recipe, prepared: Prepared) -> None:
    """Refuse the option `pair` for single texts instead of ignoring it.

    In a recipe file it is allowed: the recipe may be for pairs and for single texts.
    """
    file = prepared.file
    for task in () if file is None else file.tasks:
        if file is not None and "pair" in task.head and not prepared.tasks[task.name].train.others:
            raise DataError(f"{file.where(task.name)}: {SINGLE}")
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
    """Notes about options that have no effect."""
    if recipe.long != "windows":
        return []
    together: dict[str, bool] = {}  # by task or phase; for a task, the last phase counts
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        for task, head in options.heads().items():
            own = prepared.tasks.get(task) if task else prepared
            if own is not None:
                together[f"task '{task}'" if task else name] = head.pair == "together" and bool(own.train.others)
    return [
        f"--long windows has no effect on {where}: both texts of a pair are one input (pair = 'together'), and the "
        "longer one is cut until they fit"
        for where, is_one_input in together.items()
        if is_one_input
    ]


def memory_notes(recipe: Recipe, prepared: Prepared) -> list[str]:
    """Notes about parts of a recipe whose memory grows with a large table, although its texts are in a file."""
    if not any(isinstance(table.texts, StoredTexts) for table in prepared.trained_tables):
        return []
    users = [f"recipe '{recipe.baseline}' keeps all training texts"] if recipe.baseline is not None else []
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        if getattr(options, "pairs", None) == "explicit":
            users.append(f"{name} keeps all its pairs (pairs = 'explicit')")
        if prepared.train.others and any(head.pair == "together" for head in options.heads().values()):
            users.append(f"{name} keeps the tokens of all pairs (pair = 'together')")
    return [f"{user} in memory; to use less, train on a sample with --rows" for user in users]


def ignored_texts(recipe: Recipe, prepared: Prepared) -> str:
    """A warning if no phase uses the unlabelled texts, with the recipes that do; empty if one does."""
    texts = prepared.unlabelled
    if texts is None or any(options.uses_unlabelled for options in recipe.phases):
        return ""
    heads = any(options.trains_head for options in recipe.phases)
    others = [name for name in _using_texts() if any(one.trains_head for one in read_recipe(name).phases) == heads]
    advice = f"recipes that use them: {', '.join(others)}"
    if prepared.train.others or prepared.tasks:
        advice = "no recipe uses them for pairs of texts or several tasks; train an encoder on them first (simcse)"
    return f"recipe '{recipe.name}' does not use the {len(texts):,} unlabelled texts; {advice}"


def _using_texts() -> list[str]:
    """The packaged recipes for one table that use unlabelled texts, without those that repeat a paper."""
    names = [info.name for info in list_recipes() if not info.name.endswith("-paper")]
    found = {name: read_recipe(name).phases for name in names}
    return [
        name
        for name, phases in found.items()
        if any(options.uses_unlabelled for options in phases) and not any(one.needs == "tasks" for one in phases)
    ]
