"""Denoise: reconstruct a text from the vector of its noisy copy (phase 1 of three-phase fine-tuning).

`options` holds the options, without torch; `phase` is the step. May import what `phases` may.
"""
