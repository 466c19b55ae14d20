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
    if len(model.heads) > 1:
        return TextTasks._of(model, run, device)
    has_classes = kind_of(model.space_of(next(iter(model.heads)))).has_classes
    return TextClassifier._of(model, run, device) if has_classes else TextRegressor._of(model, run, device)
