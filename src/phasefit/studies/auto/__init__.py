"""`--recipe auto`: candidates from cheap to dear, successive halving on the training rows, one recipe that is chosen.

`facts` looks at the data, `candidates` says what is worth trying, `halving` who stays, `choice` who wins; `cells` and
`conduct` run it within the minutes, `record` and `telling` write it down. Plain `finetune` is the yardstick and stays
to the end.
"""
