"""Fitting: train a model through the phases of a recipe, with checkpoints, history and snapshots."""
