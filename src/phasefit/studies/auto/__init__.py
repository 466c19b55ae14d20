"""`--recipe auto`: candidates from cheap to expensive, successive halving on the training rows, one chosen recipe.

`candidates` lists the recipes worth trying on the data, `halving` decides which survive a round and which wins,
`trial_data` holds the rows of each cell, `run_auto` runs the rounds within the time limit, `report` formats the result.
Plain `finetune` is the reference and takes part in every round.
"""
