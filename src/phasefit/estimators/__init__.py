"""Estimators: phasefit by scikit-learn's rules. They share `base`; `inputs` takes what Python holds texts in."""

from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.encoder import TextEncoder
from phasefit.estimators.regressor import TextRegressor

__all__ = ["TextClassifier", "TextEncoder", "TextRegressor"]
