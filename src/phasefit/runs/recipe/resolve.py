"""The recipe of a run; by default, it depends on the number of rows per class. Imports no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from phasefit.data.task_file import is_task_file
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import RecipeError
from phasefit.events import Note
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe, parse_recipe, read_recipe
from phasefit.recipes.settings import merge_settings
from phasefit.runs.recipe.check import check_recipe, idle_notes, ignored_texts, memory_notes
from phasefit.runs.run import Run
from phasefit.runs.specification import AUTO, DEFAULT_RECIPE, RunSpec

MANY, FEW, PLAIN = "one-phase", "few-shot", "finetune"
NAMED = "label-names"  # not too many rows of classes whose names help
SELF, SELF_NAMED = "self-train", "self-train-names"  # the same for few rows with many unlabelled texts
TEXTS = "three-phase"  # uses unlabelled texts, and has most phases that settings may name
TASKS = "multitask"
FEW_ROWS = 32  # mean number of training rows per class
NAMED_ROWS = 256  # the same; with more, class names have not been compared with one-phase
STEP_OPTIONS = ("epochs", "lr", "batch_size", "min_steps", "max_steps", "patience", "warmup", "weight_decay")
SKIP_AT = 0.99  # of the probe: with this score, phases before the last have nothing to gain


def requested_recipe(spec: RunSpec) -> Recipe:
    """The requested recipe; by default, the one with most phases, until the rows are known."""
    if spec.recipe.recipe_toml is not None:
        name, settings, effort = spec.recipe.name, spec.recipe.settings, spec.recipe.effort
        return parse_recipe(spec.recipe.recipe_toml, name=name, where=name, settings=settings, effort=effort)
    if spec.recipe.name == AUTO:
        raise RecipeError("recipe 'auto' is chosen by trials and cannot be used here; name a recipe with --recipe")
    if spec.recipe.name != DEFAULT_RECIPE:
        return read_recipe(spec.recipe.name, spec.recipe.settings, spec.recipe.effort)
    if is_task_file(spec.data.source):
        return read_recipe(TASKS, spec.recipe.settings, spec.recipe.effort)
    spec = spec.replace(effort=USUAL_EFFORT)
    with_texts = (SELF, SELF_NAMED) if spec.data.unlabelled is not None else ()
    named = any(path.startswith(f"{SELF}.") for path in spec.recipe.settings)  # its phase has the same name
    first, *others = (*with_texts, TEXTS) if named else (TEXTS, NAMED, FEW, MANY)
    try:
        return _keeping_head(spec, first)
    except RecipeError:
        for name in others:  # a default that accepts settings which the first does not
            with suppress(RecipeError):
                return _keeping_head(spec, name)
        raise


def resolve_recipe(spec: RunSpec, recipe: Recipe, prepared: Prepared, listen: Callable[[Note], None]) -> Recipe:
    """The recipe for these rows, checked against them."""
    chosen = _for_rows(spec, recipe, prepared, listen)
    rows = sum(len(task.train) for task in prepared.tasks.values()) or len(prepared.train)
    resolved = chosen.for_rows(rows)
    for note in _batch_notes(chosen, resolved, rows):
        listen(Note(note))
    check_recipe(spec, resolved, prepared)
    for note in (*idle_notes(resolved, prepared), *memory_notes(resolved, prepared)):
        listen(Note(note))
    for note in _head_only_notes(spec, resolved):
        listen(Note(note, warning=True))
    if spec.data.unlabelled is not None and (ignored := ignored_texts(resolved, prepared)):
        listen(Note(ignored, warning=True))
    return resolved


def _head_only_notes(spec: RunSpec, recipe: Recipe) -> list[str]:
    """Settings of a phase that trains only the head, which most people mean for the encoder."""
    notes = []
    others = [name for name, one in zip(recipe.phase_names, recipe.phases, strict=True) if not _is_frozen(one)]
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        solved = getattr(options, "solve", False)
        among = STEP_OPTIONS if solved else STEP_OPTIONS[:2]
        given = [option for option in among if f"{name}.{option}" in spec.recipe.settings]
        instead = " ".join(f"--set {others[-1]}.{option}=..." for option in given) if others else ""
        if given and solved:
            have = "has" if len(given) == 1 else "have"
            notes.append(
                f"in recipe '{recipe.name}', {name} is solved without steps, so {' and '.join(given)} {have} no effect"
                + (f"; for the encoder use {instead}" if instead else "")
            )
        elif others and given and _is_frozen(options):
            notes.append(
                f"in recipe '{recipe.name}', {name} trains only the head on a frozen encoder, so {' and '.join(given)} "
                f"change nothing else; for the encoder use {instead}"
            )
    return notes


def _is_frozen(options: Any) -> bool:
    return bool(getattr(options, "freeze", False))


def _for_rows(spec: RunSpec, recipe: Recipe, prepared: Prepared, listen: Callable[[Note], None]) -> Recipe:
    """The given recipe, or the default one for these rows."""
    if prepared.file is not None:
        return recipe.with_tasks(prepared.file)
    if spec.recipe.name != DEFAULT_RECIPE:
        return recipe
    if prepared.train.others or not kind_of(prepared.space).has_classes:
        recipe = _keeping_head(spec, PLAIN)
        listen(_default_note(recipe, f"for {'pairs of texts' if prepared.train.others else 'scores'}"))
        return recipe
    each = len(prepared.train) / max(len(prepared.space), 1)
    usual, reason = (FEW if each <= FEW_ROWS else MANY), f"with {each:,.0f} training rows per class"
    pseudo = False
    if prepared.unlabelled is not None and each > FEW_ROWS:  # with few rows, denoising first costs many points
        usual, reason = TEXTS, "with unlabelled texts to denoise"
    elif _only_head(spec.model) is not None:
        usual, reason = MANY, "when continuing with the head of a run"
    elif each <= NAMED_ROWS:
        pseudo = prepared.unlabelled is not None and _can_test_rounds(prepared)
        named, compared = _named(spec, prepared, (SELF_NAMED, NAMED) if pseudo else (NAMED,))
        reason += compared
        if named is not None:
            listen(_default_note(named, f"{_with_texts(named)}{reason}"))
            return named
    try:
        recipe = _first_accepting(spec, (SELF, usual) if pseudo else (usual,))
    except RecipeError:  # the recipe that was requested accepts the settings
        if spec.recipe.effort != USUAL_EFFORT:
            raise
        reason = f"because {usual} does not accept these settings"
    listen(_default_note(recipe, f"{_with_texts(recipe)}{reason}"))
    return recipe


def _can_test_rounds(prepared: Prepared) -> bool:
    """Whether self-training can leave out rows to test its rounds; it takes one class per text and no row weights."""
    train = prepared.train
    if kind_of(prepared.space).answer != "class" or train.labels is None or train.weights is not None:
        return False
    return sum(count > 1 for count in Counter(train.labels).values()) > 1


def _with_texts(recipe: Recipe) -> str:
    return "for unlabelled texts " if recipe.name in (SELF, SELF_NAMED) else ""


def _first_accepting(spec: RunSpec, names: Sequence[str]) -> Recipe:
    """The first of these recipes that accepts the settings and the effort."""
    for name in names[:-1]:
        with suppress(RecipeError):
            return _keeping_head(spec, name)
    return _keeping_head(spec, names[-1])


def _named(spec: RunSpec, prepared: Prepared, names: Sequence[str]) -> tuple[Recipe | None, str]:
    """A recipe that trains with the class names, if they help and it accepts the settings; and how they compare."""
    from phasefit.runs.recipe.class_names import score_class_names

    try:
        recipe = _first_accepting(spec, names)
    except RecipeError:
        return None, ""
    scores = score_class_names(spec.model, prepared, spec.seed)
    if scores is None:
        return None, ""
    figures = f"before training, they predict {scores.names:.0%} of the rows, and other rows {scores.rows:.0%}"
    return (recipe, f" whose names help: {figures}") if scores.help else (None, f" whose names help little: {figures}")


def _batch_notes(chosen: Recipe, resolved: Recipe, rows: int) -> list[str]:
    """The phases whose batches are smaller because the table is."""
    phases = zip(resolved.phase_names, chosen.phases, resolved.phases, strict=True)
    smaller = [(name, old.batch_size, new.batch_size) for name, old, new in phases if new.batch_size < old.batch_size]
    return [
        f"{name}: batches of {new} instead of {old}, because there are only {rows:,} training rows (small_table_batch)"
        for name, old, new in smaller
    ]


def _default_note(recipe: Recipe, reason: str) -> Note:
    return Note(f"recipe: {recipe.name} (the default {reason}; change it with --recipe)")


def _keeping_head(spec: RunSpec, name: str) -> Recipe:
    """The default recipe with this name: it keeps the head of the run that training continues from.

    With many rows, it skips phases that cannot gain, which recipes that are asked for by name never do.
    """
    effort = spec.recipe.effort
    usual = read_recipe(name, effort=effort)
    skippable = [] if name in (FEW, NAMED, SELF, SELF_NAMED) else usual.phase_names[:-1]  # few rows score .99 by luck
    kept: dict[str, Any] = {f"{phase}.skip_at": SKIP_AT for phase in skippable}
    head = _only_head(spec.model)
    if head is not None:
        options = {"head": head["kind"], "pair": head.get("pair")}
        phases = [phase for phase, own in zip(usual.phase_names, usual.phases, strict=True) if own.grows_head]
        kept |= {f"{phase}.{option}": value for phase in phases for option, value in options.items() if value}
    return read_recipe(name, merge_settings(kept, spec.recipe.settings), effort)


def _only_head(model: str | None) -> dict[str, Any] | None:
    """The head of the run to continue from, which a head of another kind would replace; None for several tasks."""
    if model is None:
        return None
    run = Run.open_model(model)
    run.check_encoder()
    heads = [head for head in run.heads.values() if "kind" in head]
    return heads[0] if len(heads) == 1 else None
