"""Engines: where shards and cells are run, on this machine (`local`) or on a Ray cluster (`ray`).

`choice` reads `--engine`, `ray_cluster` is the only file that imports Ray, `parent` ends processes whose parent is
gone. What is run there is in `predicting` (shards) and `studies` (cells).

May import files and everything to the left of it; Ray only inside functions.
"""
