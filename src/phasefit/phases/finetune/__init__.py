"""Finetune: a head on the encoder, cross-entropy, early stopping (phase 3 of three-phase fine-tuning).

`options` is what a recipe may say, without torch; `phase` is the step, with an objective next to its loss in
`auxiliary_objective`; `head` makes heads and their losses, also for multitask. May import what `phases` may.
"""
