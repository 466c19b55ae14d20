"""`--recipe auto`: candidates from cheap to dear, successive halving on the training rows, one recipe that is chosen.

`candidates` looks at the data and lists what is worth trying, `halving` decides who stays and who wins, `trial_data`
has the rows of each cell, `run_auto` runs the rounds within the minutes, `report` writes the result down. Plain
`finetune` is the yardstick and stays to the end.
"""
