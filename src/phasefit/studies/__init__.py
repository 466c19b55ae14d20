"""Studies: recipes x datasets x seeds x folds, one run per cell; tables with intervals and tests, and pages.

`cell` is one run, `key` identifies its result, `work` runs it in its own process, `processes` and `ray_tasks` are the
engines that start it, and `pool` runs many. `study` is the grid and `run_study` runs all of it; `study_file`, `scaling`
and `plan` describe studies of papers. `statistics` tests differences, `tables` and `formats` write them. `search` tunes
settings, `auto` chooses a recipe.
May import report and everything to its left; torch is imported only when a cell is run.
"""
