"""What a search is about: rows, recipe, space and score; and the rows that trials may use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from phasefit.data.task_file import is_task_file
from phasefit.errors import DataError, RecipeError, did_you_mean
from phasefit.files.atomic import make_folders
from phasefit.kinds import kind_of
from phasefit.metrics.registry import MEAN, METRICS, metric_at
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes import Recipe, read_recipe
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.specification import RunSpec
from phasefit.studies.folder import ROWS
from phasefit.studies.key import digest, run_identity
from phasefit.studies.rows import has_part, reading, rows_without_test, spec_on_rows, write_rows_once
from phasefit.studies.search.space import Space


@dataclass(frozen=True)
class Question:
    """Data, recipe, space and score of a search."""

    dataset: str
    spec: RunSpec  # with the recipe and the --set options of all trials
    recipe: Recipe
    space: Space
    score: str  # validation metric, by its name in metrics.json

    @property
    def maximise(self) -> bool:
        """Whether a higher score is better."""
        return higher_is_better(self.score)

    @property
    def digest(self) -> str:
        """Identifies the question on every machine; trials, time, sampler and pruner are not part of it."""
        identity = run_identity(self.spec.replace(score_test=False))
        space = {name: asdict(one) for name, one in self.space.dimensions.items()}
        return digest([{**identity, "machine": None}, space, self.score])


def question_for(dataset: str, spec: RunSpec, space: Space, score: str | None) -> tuple[Question, Prepared]:
    """The question and its tables, read once; raises for everything that cannot be searched."""
    recipe = read_recipe(spec.recipe.name, spec.recipe.settings)
    recipe.check_files()
    if recipe.baseline is not None:
        raise RecipeError(f"'{recipe.baseline}' has no settings to search; search a recipe with a finetune phase")
    if not any(phase.trains_head or phase.needs == "tasks" for phase in recipe.phases):
        raise RecipeError(f"{recipe.name} trains an encoder without a head, so it has no validation score; search a "
                          "recipe with a finetune phase")  # fmt: skip
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base_run(spec.model), needs=needs_of(recipe))
    parts = list(prepared.tasks.values()) or [prepared]
    if any(part.validation is None for part in parts):
        raise DataError("a search compares validation scores, and there are no validation rows; give --validation or "
                        "a --validation-size above 0")  # fmt: skip
    if prepared.tasks and spec.split.test_size:
        _check_tests(spec, recipe)
    return Question(dataset, spec, recipe, space, score_name(score, prepared)), prepared


def _check_tests(spec: RunSpec, recipe: Recipe) -> None:
    """Raise for a task without a test table: fresh seeds would split test rows off rows that trials have seen."""
    given = _without_splitting(spec, recipe)
    for name, task in given.tasks.items():
        if task.test is None:
            raise DataError(
                f"{given.name}, task '{name}' has no separate test rows, so fresh seeds would be scored on rows that "
                f"trials have seen; give it a test table (test = ... in its [[task]]), or use --test-size 0 to run "
                f"without test rows"
            )


def _without_splitting(spec: RunSpec, recipe: Recipe) -> Prepared:
    """The tables with the test rows that come with them; a test table without labels does not count."""
    split = replace(spec.split, test_size=0.0)
    return prepare(spec.data, split, seed=spec.seed, base=base_run(spec.model), needs=needs_of(recipe))


def score_name(given: str | None, prepared: Prepared) -> str:
    """The validation metric to search by; test metrics are refused."""
    if prepared.tasks:
        known: tuple[str, ...] = (MEAN,)
        usual = MEAN
    else:
        kind = kind_of(prepared.space)
        known, usual = kind.watchable, kind.judged
        known += ("ece",) if {*kind.metric_groups} & {*METRICS["ece"].of} else ()
    if given is None:
        return usual
    if given.startswith("test."):
        raise RecipeError(
            f"--score {given}: a search compares validation scores; use --score {given.removeprefix('test.')}"
        )
    name = given.removeprefix("validation.")
    if name not in known:
        raise RecipeError(f"--score {given}: these labels have no such score; {did_you_mean(name, known)}")
    return name


def higher_is_better(score: str) -> bool:
    """Whether a higher value of the score is better."""
    return metric_at(score).higher_is_better is not False


def without_test_rows(question: Question, prepared: Prepared, folder: Path) -> Question:
    """The question on rows without the test rows, if those were split off.

    Otherwise fresh seeds would use rows as test rows that trials have seen.
    """
    spec = question.spec
    if is_task_file(spec.data.source) or prepared.test is None:  # `question_for` checked that tasks have test tables
        return question
    if has_part(spec, "test") and _without_splitting(spec, question.recipe).test is not None:
        return question
    target = folder / ROWS
    make_folders(target)
    own_validation = has_part(spec, "validation") and prepared.validation is not None
    train = prepared.train if own_validation else rows_without_test(prepared)
    fields: dict[str, Any] = reading(train, prepared.space.kind)
    fields["data"] = write_rows_once(train, target / "train.parquet")
    fields["test"] = write_rows_once(prepared.test, target / "test.parquet")
    fields["test_size"] = 0.0
    if own_validation and prepared.validation is not None:
        fields["validation"] = write_rows_once(prepared.validation, target / "validation.parquet")
    else:
        fields["validation_size"] = round(spec.split.validation_size / (1 - spec.split.test_size), 6)
    if prepared.unlabelled is not None:
        fields["unlabelled"] = write_rows_once(prepared.unlabelled, target / "unlabelled.parquet")
    return replace(question, spec=spec_on_rows(spec, **fields))
