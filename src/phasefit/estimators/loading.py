"""Load a finished run or a saved model as the matching estimator."""

from __future__ import annotations

from pathlib import Path

from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.encoder import TextEncoder
from phasefit.estimators.regressor import TextRegressor
from phasefit.estimators.tasks import TextTasks
from phasefit.kinds import kind_of
from phasefit.runs.run import Run


def load_estimator(folder: str | Path, device: str) -> TextClassifier | TextRegressor | TextEncoder | TextTasks:
    """Return the estimator of a run: a classifier, a regressor, an encoder, or `TextTasks` for several tasks."""
    run = Run.open_model(folder)
    model = run.predictor(device)
    if not model.heads:
        return TextEncoder._of(model, run, device)
    kinds: dict[str, type[TextClassifier | TextRegressor]] = {
        task: TextClassifier if kind_of(model.space_of(task)).has_classes else TextRegressor for task in model.heads
    }
    tasks = {task: kind._of(model, run, device, task) for task, kind in kinds.items()}
    return next(iter(tasks.values())) if len(tasks) == 1 else TextTasks(tasks)
