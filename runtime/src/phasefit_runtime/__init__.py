"""phasefit-runtime: predictions of models that `phasefit export` wrote, with ONNX Runtime and without torch.

>>> import phasefit_runtime
>>> model = phasefit_runtime.load("exported/reviews")
>>> model.predict(["arrived broken"])
['negative']
"""

from __future__ import annotations

from phasefit_runtime.batch_predictor import BatchPredictor
from phasefit_runtime.errors import ExportError, InputError, TextsCut
from phasefit_runtime.labels import Label
from phasefit_runtime.model import Model, load

__all__ = ["BatchPredictor", "ExportError", "InputError", "Label", "Model", "TextsCut", "__version__", "load"]

__version__ = "0.1.0"
