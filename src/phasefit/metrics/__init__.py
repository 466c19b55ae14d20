"""Metrics: of predictions against the truth and of embedding spaces, as plain numbers that go into JSON.

`registry` knows every metric by its name. `scores` is the quick set that training watches, `classification` the full
report of a trained model, `multi_label` and `regression` the same for other labels; they count with `confusion`,
`ranking` and `calibration`. `geometry` looks at embeddings instead. May import errors and the registry class, never
torch.
"""

from phasefit.metrics.classification import classification_metrics
from phasefit.metrics.registry import METRICS, Metric, add, watchable
from phasefit.metrics.scores import quick_scores

__all__ = ["METRICS", "Metric", "add", "classification_metrics", "quick_scores", "watchable"]
