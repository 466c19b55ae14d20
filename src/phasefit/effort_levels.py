"""The levels of effort that a recipe may have. Imports nothing, so that help and options are quick."""

EFFORTS = range(1, 6)
USUAL_EFFORT = 3
"""The recipe as it is."""
