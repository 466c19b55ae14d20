"""The search for settings: a space, trials that are cells of a study, a recipe file, and the proof on fresh seeds.

`space` is what may be tried (`spaces/` has the papers'), `trials` runs it through Optuna (`library` is the only file
that imports it), `winner` writes the recipe, `conduct` does all of it. Trials see validation scores only.
"""
