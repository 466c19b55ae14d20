"""TextTasks: one encoder with a classifier or regressor for each of several tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.labels.kinds import USUAL
from phasefit.data.table_reading import Lists
from phasefit.data.task_file import TaskFile, TaskSpec, check_task_name
from phasefit.errors import DataError, ModelError, RecipeError, did_you_mean
from phasefit.estimators.base import TextEstimator
from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.inputs import as_label_rows, as_rows, as_weights
from phasefit.estimators.regressor import TextRegressor
from phasefit.kinds import kind_of
from phasefit.parameter_names import python_errors
from phasefit.runs.specification import DEFAULT_RECIPE

if TYPE_CHECKING:
    from phasefit.events import Event
    from phasefit.explain import Explanation

RECIPE = "multitask"
SCORE = "score"


class TextTasks(TextEstimator):
    """Several tasks learned by one encoder, each with its own head: classes, several labels, trees or scores.

    Parameters
    ----------
    recipe
        A packaged recipe or the path of a recipe file that trains several tasks.
    model
        The pretrained encoder: a hub id, a folder, or a run (also `hub:owner/name`) to continue from. None uses the
        default model.
    settings
        Options of the recipe to change, for example `{"multitask.epochs": 4, "multitask.tasks.topic.weight": 2}`.
    validation_size
        The share of rows of each task to hold out for choosing the best weights if `fit` gets no validation rows.
    seed
        The seed of every random choice in training.
    device
        "auto", "cpu", "cuda", "cuda:1" or "mps".
    precision
        "auto" (bfloat16 on GPUs that have it), "no", "bf16" (GPUs, CPUs with bfloat16 units) or "fp16" (GPUs).
    batch_size
        Texts per batch in prediction. The training batch size is an option of each phase.
    verbose
        Whether to show progress: True, False, or None, which shows it in terminals and notebooks.
    listener
        A function that receives every event of training: notes, steps, scores (see `phasefit.events`).

    Attributes
    ----------
    tasks_
        A fitted `TextClassifier` or `TextRegressor` for each task; `tasks["topic"]` is one of them.
    model_
        The trained model.
    validation_metrics_
        The metrics on the validation rows, by task; None without validation rows.
    history_, phases_
        The losses and scores of every step, and a summary of each phase.
    """

    _predicts = False

    @python_errors
    def __init__(
        self,
        recipe: str = RECIPE,
        *,
        model: str | None = None,
        settings: Mapping[str, Any] | None = None,
        validation_size: float = 0.2,
        seed: int = 0,
        device: str = "auto",
        precision: str = "auto",
        batch_size: int = 64,
        verbose: bool | int | None = None,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        self.recipe = recipe
        self.model = model
        self.settings = settings
        self.validation_size = validation_size
        self.seed = seed
        self.device = device
        self.precision = precision
        self.batch_size = batch_size  # for prediction; each phase has its own for training
        self.verbose = verbose
        self.listener = listener

    @python_errors
    def fit(
        self,
        tables: Mapping[str, tuple[Sequence[Any], Any]],
        y: None = None,
        sample_weight: Mapping[str, Any] | None = None,
        *,
        kinds: Mapping[str, str] | None = None,
        validation: Mapping[str, tuple[Sequence[Any], Any]] | None = None,
    ) -> TextTasks:
        """Train all tasks together.

        Parameters
        ----------
        tables
            (X, y) of each task, by name: texts or 2-tuples of texts, and labels or scores as for `TextClassifier` and
            `TextRegressor`.
        y
            Ignored; the labels are in `tables`.
        sample_weight
            Weights of the rows of some tasks, by name.
        kinds
            The kind of labels of some tasks, by name: "single", "multi", "tree" or "score"; by default
            detected: names and whole numbers are classes, floats are scores.
        validation
            (X, y) of the validation rows of some tasks; the others hold out `validation_size` of their rows.
        """
        self._refuse_one_table()
        if not isinstance(tables, Mapping) or not tables:
            raise DataError('expected a dict of tables such as {"topic": (texts, labels), "stars": (texts, scores)}')
        for name, given in {"sample_weight": sample_weight, "kinds": kinds, "validation": validation}.items():
            for task in given or ():
                if task not in tables:
                    raise DataError(f"{name}: there is no task '{task}'; {did_you_mean(str(task), map(str, tables))}")
        weights, scored = sample_weight or {}, validation or {}
        specs = [
            TaskSpec(
                check_task_name(name, "tables"),
                _table(name, table, weights.get(name)),
                kind=(kinds or {}).get(name) or _kind(table),
                validation=_table(name, scored[name]) if name in scored else None,
            )
            for name, table in tables.items()
        ]
        result = self._train(TaskFile("tasks", tuple(specs), in_memory=True), None, None)
        self.validation_metrics_ = result.metrics.get("validation")
        return self

    @python_errors
    def predict(self, X: Sequence[Any], *, task: str | None = None) -> np.ndarray | dict[str, np.ndarray]:
        """Return the predictions of one task or, without `task`, a dictionary with those of every task."""
        self._fitted()
        if task is None:
            return {name: estimator.predict(X) for name, estimator in self.tasks_.items()}
        return self[task].predict(X)

    def explain(
        self, X: Sequence[Any], *, task: str, label: Any = None, method: str = "occlusion"
    ) -> list[Explanation]:
        """Return the words that mattered for the predictions of one task; see `TextClassifier.explain`."""
        return self[task].explain(X, label=label, method=method)

    def __getitem__(self, task: str) -> TextClassifier | TextRegressor:
        """The classifier or regressor of a task."""
        self._fitted()
        if task not in self.tasks_:
            raise ModelError(f"this model has no task '{task}'; {did_you_mean(task, self.tasks_)}")
        return self.tasks_[task]

    def _adopt(self) -> None:
        """Make the estimator of each task."""
        kept = {name: getattr(self, name) for name in ("seed", "device", "precision", "batch_size")}
        self.tasks_: dict[str, TextClassifier | TextRegressor] = {}
        for task in self.model_.heads:
            has_classes = kind_of(self.model_.space_of(task)).has_classes
            estimator = (TextClassifier if has_classes else TextRegressor)(**kept)
            estimator.model_, estimator.task_ = self.model_, task
            estimator._adopt()
            estimator._trained_on = self._training_source()
            self.tasks_[task] = estimator

    def _refuse_one_table(self) -> None:
        from phasefit.recipes import read_recipe

        if self.recipe == DEFAULT_RECIPE:
            return
        recipe = read_recipe(self.recipe)
        if not any(phase.needs == "tasks" for phase in recipe.phases):
            raise RecipeError(f"recipe '{recipe.name}' trains one table; use TextClassifier, or recipe='{RECIPE}'")


def _table(name: str, table: Any, weights: Any = None) -> Lists:
    """The rows of one task."""
    if not isinstance(table, tuple | list) or len(table) != 2:
        raise DataError(f"task '{name}': expected (texts, labels), not {type(table).__name__}")
    rows = as_rows(table[0])
    return Lists(rows, as_label_rows(table[1])[0], as_weights(weights, len(rows)))


def _kind(table: tuple[Any, Any]) -> str | None:
    """Names are always one class per text, and floats are scores; other kinds are detected."""
    labels = as_label_rows(table[1])[0]
    for of, kind in ((str, USUAL), (float, SCORE)):
        if labels and all(isinstance(label, of) for label in labels):
            return kind
    return None
