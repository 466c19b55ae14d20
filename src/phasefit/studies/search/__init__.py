"""The search for settings: a space, trials that are cells of a study, a recipe file, and a comparison on fresh seeds.

`space` defines what may be tried (`spaces/` contains packaged ones), `question` holds data, recipe, space and score,
`trials` runs the trials through Optuna (imported by `optuna_study` only), `run_search` runs everything and writes the
recipe, `report` writes the rest. Trials see validation scores only.
"""
