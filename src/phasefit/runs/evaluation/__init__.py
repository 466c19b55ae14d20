"""Evaluation: how a trained model decides, how it scores, and what its embedding space looks like."""
