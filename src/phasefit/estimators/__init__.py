"""Estimators: the Python interface. The top-level package `phasefit` exports its public names.

`classifier`, `regressor` and `encoder` follow scikit-learn's rules and share `base`; `functions` has `train`, `resume`,
`load` and `read_table`; `loading` and `tasks` are what `load` returns; `inputs` converts lists, arrays and frames.
May import studies and everything to their left.
"""

from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.encoder import TextEncoder
from phasefit.estimators.regressor import TextRegressor

__all__ = ["TextClassifier", "TextEncoder", "TextRegressor"]
