"""Joint: denoise and contrast in one phase.

`options` is what a recipe may say, without torch; `phase` is the step. May import what `phases` may, and
those two phases.
"""
