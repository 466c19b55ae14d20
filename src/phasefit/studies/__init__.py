"""Studies: recipes x datasets x seeds x folds, each cell a run of its own; tables with intervals and tests, and pages.

`cell` is one run and its key, `work` carries it out in a process of its own, `pool` runs many, `study` is the grid,
`statistics` says which differences are real, `tables` and `formats` write them down. `search` and `auto` choose.
May import report and everything to its left; nothing here imports torch before a cell is carried out.
"""
