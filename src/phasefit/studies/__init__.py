"""Studies: recipes x datasets x seeds x folds, each cell a run of its own; tables with intervals and tests, and pages.

`cell` is one run, `key` what its result is kept under, `work` carries it out in a process of its own, `pool` runs many.
`study` is the grid and `run_study` all of it; `study_file`, `scaling` and `plan` are for papers' studies. `statistics`
says which differences are real, `tables` and `formats` write them down. `search` and `auto` choose.
May import report and everything to its left; nothing here imports torch before a cell is carried out.
"""
