"""Estimators: phasefit by scikit-learn's rules. They share `base`; `inputs` takes what Python holds texts in."""

from phasefit.estimator.classifier import TextClassifier
from phasefit.estimator.encoder import TextEncoder
from phasefit.estimator.regressor import TextRegressor

__all__ = ["TextClassifier", "TextEncoder", "TextRegressor"]
