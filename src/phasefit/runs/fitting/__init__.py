"""Fitting: a model taken through the phases of a recipe, with checkpoints, history and snapshots."""
