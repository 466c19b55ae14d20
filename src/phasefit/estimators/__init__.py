"""Estimators: the Python interface. The top-level package `phasefit` exports its public names.

`classifier`, `regressor`, `encoder` and `tasks` follow scikit-learn's rules and share `base`; `explaining` explains the
predictions of the first two; `auto` chooses recipes; `functions` has `train`, `resume`, `load` and `read_table`;
`loading` is what `load` does; `inputs` converts lists, arrays and frames. May import studies and everything to their
left.
"""

from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.encoder import TextEncoder
from phasefit.estimators.regressor import TextRegressor
from phasefit.estimators.tasks import TextTasks

__all__ = ["TextClassifier", "TextEncoder", "TextRegressor", "TextTasks"]
