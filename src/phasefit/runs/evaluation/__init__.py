"""Evaluation: decision thresholds, scores and the geometry of the embedding space."""
