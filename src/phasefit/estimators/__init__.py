"""Estimators: the Python interface. Its public names are those of `phasefit` itself.

`classifier`, `regressor` and `encoder` follow scikit-learn's rules and share `base`; `functions` has `train`, `resume`,
`load` and `read_table`; `loading` and `tasks` are what `load` returns; `inputs` takes what Python holds texts in.
May import studies and everything to their left.
"""

from phasefit.estimators.classifier import TextClassifier
from phasefit.estimators.encoder import TextEncoder
from phasefit.estimators.regressor import TextRegressor

__all__ = ["TextClassifier", "TextEncoder", "TextRegressor"]
