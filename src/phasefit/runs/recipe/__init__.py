"""Recipe resolution: which recipe a run uses, what a task file adds to it, and whether it fits the labels.

Imports no torch.
"""
