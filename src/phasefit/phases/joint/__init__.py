"""Joint: denoise and contrast in one phase.

`options` holds the options, without torch; `phase` is the step. May import what `phases` may, and
those two phases.
"""
