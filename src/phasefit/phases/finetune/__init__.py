"""Finetune: a head on the encoder, cross-entropy, early stopping (phase 3 of three-phase fine-tuning).

`options` holds the options, without torch; `phase` is the step; `auxiliary_objective` is an objective added to its
loss; `head` makes heads and their losses, and `line` fits a head for cosines, also for multitask. May import what
`phases` may.
"""
