"""Metrics of predictions and of embedding spaces, as plain numbers for JSON.

`registry` lists every metric by name. `scores` has the quick metrics that training watches, `classification` the full
report of a trained model, `multi_label` and `regression` the same for other labels; they build on `confusion`,
`ranking` and `calibration`. `geometry` measures embeddings. May import errors and the registry class, never torch.
"""

from phasefit.metrics.classification import classification_metrics
from phasefit.metrics.registry import METRICS, Metric, add, watchable
from phasefit.metrics.scores import quick_scores

__all__ = ["METRICS", "Metric", "add", "classification_metrics", "quick_scores", "watchable"]
