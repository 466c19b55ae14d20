"""Runs: one training job, from its specification to a finished run folder.

`specification` describes a run, `run` opens a finished one. `train` and `resume` are the entry points, `job` is what
they share, `execution` fits and evaluates in memory, `results` saves. `folder` creates, locks, finishes and reopens run
folders; `recipe/` resolves the recipe for the data, `fitting/` trains the model phase by phase, `evaluation/` scores
it. A run folder is a model folder: `phasefit.json` (the manifest), `encoder/`,
`heads.safetensors`, `labels.json`, `recipe.toml`, `metrics.json`, `history.json`, `data.json`, pictures and a card; an
unfinished run also has `checkpoints/`. Safetensors, JSON and TOML only; reading runs no code.

May import baselines and everything to their left, but not `report`: callers pass the function that writes it.
"""
