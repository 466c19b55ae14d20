"""A finished run or a saved model as the estimator that predicts what it was trained for."""

from __future__ import annotations

from pathlib import Path

from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.encoder import TextEncoder
from phasefit.estimators.regressor import TextRegressor
from phasefit.estimators.tasks import TextTasks
from phasefit.files.manifest import MANIFEST, read_manifest
from phasefit.kinds import kind_of
from phasefit.models.storage import load_model


def load_estimator(folder: str | Path, device: str) -> TextClassifier | TextRegressor | TextEncoder | TextTasks:
    """The estimator of a run: a classifier, a regressor, an encoder, or one of them for each of several tasks."""
    place = Path(folder).expanduser()
    manifest = read_manifest(place) if (place / MANIFEST).is_file() else {}
    model = load_model(folder, device)
    if not model.heads:
        return TextEncoder._of(model, manifest, place, device)
    kinds: dict[str, type[TextClassifier | TextRegressor]] = {
        task: TextClassifier if kind_of(model.space_of(task)).has_classes else TextRegressor for task in model.heads
    }
    tasks = {task: made._of(model, manifest, place, device, task) for task, made in kinds.items()}
    return next(iter(tasks.values())) if len(tasks) == 1 else TextTasks(tasks)
