"""Explanations: the words that mattered for a prediction, and the training texts nearest to a text.

`explain` uses one of two methods: `occlusion` (leave one word out; any model) or `gradients` (integrated gradients of
an encoder, with captum). `deletion` tests the words against random ones, `nearest` finds similar training texts and
`training_texts` reads them again. `words` splits texts, `reading` knows which words a model reads, `targets` which
output is explained, `results` has what is returned.

May import errors, seeds, events, files, registry, data, metrics, objectives, kinds, models, phases, recipes, training,
prepare, baselines, runs and progress. Importing it does not import torch; only `captum_gradients` imports captum.
"""

from phasefit.explain.deletion import deletion_test
from phasefit.explain.explain import METHODS, explain_texts
from phasefit.explain.nearest import TrainingVectors, nearest
from phasefit.explain.results import DeletionTest, Explanation, Neighbour, Word, to_json
from phasefit.explain.training_texts import TrainingTexts, training_texts

__all__ = [
    "METHODS",
    "DeletionTest",
    "Explanation",
    "Neighbour",
    "TrainingTexts",
    "TrainingVectors",
    "Word",
    "deletion_test",
    "explain_texts",
    "nearest",
    "to_json",
    "training_texts",
]
