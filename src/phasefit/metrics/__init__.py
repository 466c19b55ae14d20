"""How good is it: scores of predictions against the truth, as plain numbers that go into JSON.

`scores` is the quick set that training watches, `classification` the full report of a trained model; they count with
`confusion`, `ranking` and `calibration`. `geometry` looks at embeddings instead. Nothing here imports torch or
scikit-learn, whose values the tests hold these to.
"""

from phasefit.metrics.classification import classification_metrics
from phasefit.metrics.scores import SCORES, Score, quick_scores, watchable

__all__ = ["SCORES", "Score", "classification_metrics", "quick_scores", "watchable"]
