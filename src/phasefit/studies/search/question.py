"""What a search asks: rows, recipe, space, score; and the rows that it may look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from phasefit.data.task_file import is_task_file
from phasefit.errors import DataError, RecipeError, did_you_mean
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
    """A search before it begins."""

    dataset: str
    spec: RunSpec  # with the recipe and what --set says for all trials
    recipe: Recipe
    space: Space
    score: str  # of validation, as metrics.json calls it

    @property
    def maximise(self) -> bool:
        """Which way is better."""
        return higher_is_better(self.score)

    @property
    def digest(self) -> str:
        """The same on every machine that is asked the same; how long and how to search is not part of it."""
        identity = run_identity(self.spec.replace(score_test=False))
        space = {name: asdict(one) for name, one in self.space.dimensions.items()}
        return digest([{**identity, "machine": None}, space, self.score])


def question_for(dataset: str, spec: RunSpec, space: Space, score: str | None) -> tuple[Question, Prepared]:
    """The question, after everything that can be refused has been; the tables are read once."""
    recipe = read_recipe(spec.recipe.name, spec.recipe.settings)
    recipe.check_files()
    if not any(phase.trains_head or phase.needs == "tasks" for phase in recipe.phases):
        raise RecipeError(f"{recipe.name} ends with an encoder, which no validation score tells apart; search a recipe "
                          "with a finetune phase")  # fmt: skip
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base_run(spec.model), needs=needs_of(recipe))
    parts = list(prepared.tasks.values()) or [prepared]
    if any(part.validation is None for part in parts):
        raise DataError("a search chooses by the validation score, and there are no validation rows; give --validation "
                        "or a --validation-size above 0")  # fmt: skip
    if prepared.tasks and spec.split.test_size:
        _check_tests(spec, recipe)
    return Question(dataset, spec, recipe, space, score_name(score, prepared)), prepared


def _check_tests(spec: RunSpec, recipe: Recipe) -> None:
    """Refuse a task whose test rows would be split off: each fresh seed would draw them from rows that trials saw."""
    given = _without_splitting(spec, recipe)
    for name, task in given.tasks.items():
        if task.test is None:
            raise DataError(
                f"{given.name}, task '{name}': it has no test rows of its own, and fresh seeds would be scored on rows "
                f"that trials were trained on; give it a table of them (test = ... in its [[task]]), or --test-size 0 "
                f"to leave it without a test"
            )


def _without_splitting(spec: RunSpec, recipe: Recipe) -> Prepared:
    """The tables with the test rows that they bring; one whose labels are withheld counts as none."""
    split = replace(spec.split, test_size=0.0)
    return prepare(spec.data, split, seed=spec.seed, base=base_run(spec.model), needs=needs_of(recipe))


def score_name(given: str | None, prepared: Prepared) -> str:
    """The validation metric to search by; never one of the test."""
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
        raise RecipeError(f"--score {given}: a search chooses by validation scores; the test is for what it found")
    name = given.removeprefix("validation.")
    if name not in known:
        raise RecipeError(f"--score {given}: no such score of these labels; {did_you_mean(name, known)}")
    return name


def higher_is_better(score: str) -> bool:
    """Which way a score is better."""
    return metric_at(score).higher_is_better is not False


def without_test_rows(question: Question, prepared: Prepared, folder: Path) -> Question:
    """The question on rows without the test where that is split off: fresh seeds must not turn rows that the search
    looked at into test rows."""
    spec = question.spec
    if is_task_file(spec.data.source) or prepared.test is None:  # `question_for` checked that tasks bring their own
        return question
    if has_part(spec, "test") and _without_splitting(spec, question.recipe).test is not None:
        return question
    place = folder / ROWS
    place.mkdir(exist_ok=True)
    own_validation = has_part(spec, "validation") and prepared.validation is not None
    train = prepared.train if own_validation else rows_without_test(prepared)
    fields: dict[str, Any] = reading(train, prepared.space.kind)
    fields["data"] = write_rows_once(train, place / "train.parquet")
    fields["test"] = write_rows_once(prepared.test, place / "test.parquet")
    fields["test_size"] = 0.0
    if own_validation and prepared.validation is not None:
        fields["validation"] = write_rows_once(prepared.validation, place / "validation.parquet")
    else:
        fields["validation_size"] = round(spec.split.validation_size / (1 - spec.split.test_size), 6)
    if prepared.unlabelled is not None:
        fields["unlabelled"] = write_rows_once(prepared.unlabelled, place / "unlabelled.parquet")
    return replace(question, spec=spec_on_rows(spec, **fields))
