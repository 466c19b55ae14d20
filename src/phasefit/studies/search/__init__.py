"""The search for settings: a space, trials that are cells of a study, a recipe file, and the proof on fresh seeds.

`space` is what may be tried (`spaces/` has the papers'), `question` what is asked, `trials` runs it through Optuna
(`optuna_study` is the only file that imports it), `run_search` does all of it and writes the recipe, `report` the rest.
Trials see validation scores only.
"""
