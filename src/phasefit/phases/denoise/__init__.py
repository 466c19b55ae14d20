"""Denoise: rebuild a clean text from the one vector of its noised copy (phase 1 of three-phase fine-tuning).

`options` is what a recipe may say, without torch; `phase` is the step. May import what `phases` may.
"""
